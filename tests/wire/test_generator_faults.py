"""The generator when its providers misbehave: no item is lost, none repeated, none broken, and all in time."""

from __future__ import annotations

import time

import pytest

from headway.budget import Budget, Tier
from headway.v1 import generator_pb2, ledger_pb2
from tests.wire.generator_parts import generate, generator, items, notices, outcomes, request, summary, tiers

BOTH = "anthropic openai"
WIDE = Budget(reserve=0.25)
"""So much of a deadline is left free that a busy machine does not fail a test that is about something else."""
EVERY_WAY_OF_WRITING = [
    "code_fence",
    "prose",
    "trailing_comma",
    "awkward_text",
    "split_bytes",
    "split_tokens",
    "crlf",
    "comments",
    "pings",
    "unknown_events",
    "no_end_marker",
    "thinking",
    "retry_after_on_success",
]
WRITERS = [
    ("anthropic", {}),
    ("openai", {}),
    ("openai", {"openai_small_model": "local-small", "openai_large_model": "-"}),
    ("openai", {"openai_api": "responses"}),
]
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
KINDS_OF_WRITERS = ["anthropic", "openai", "lines", "responses"]


def sources(events: list[generator_pb2.GenerateResponse]) -> list[str]:
    return [item.sources[0] for item in items(events)]


@pytest.mark.parametrize("fault", EVERY_WAY_OF_WRITING)
@pytest.mark.parametrize(("providers", "settings"), WRITERS, ids=KINDS_OF_WRITERS)
async def test_items_arrive_whole_however_they_are_written_and_sent(
    providers: str, settings: dict[str, str], fault: str
) -> None:
    async with generator(f'name = "{fault}"', providers=providers, settings=settings) as running:
        events = await generate(running.target)
    assert tiers(events) == ["small"] * 3
    assert sources(events) == ["jeju-0", "jeju-1", "jeju-2"]
    assert all(item.title and item.body and item.reason for item in items(events))
    assert outcomes(events) == [(providers, "ok")]
    assert summary(events).dropped_items == 0


@pytest.mark.parametrize(("providers", "settings"), WRITERS, ids=KINDS_OF_WRITERS)
async def test_items_that_take_more_tokens_than_expected_are_asked_for_again_with_more(
    providers: str, settings: dict[str, str]
) -> None:
    # Each character outside of ASCII as six: the answer reaches its limit of tokens before the third item is whole.
    async with generator('name = "unicode_escapes"', providers=providers, settings=settings) as running:
        events = await generate(running.target)
        bodies = [entry.body for entry in running.simulation.requests]
    limits = [next(body[name] for name in LIMIT_FIELDS if name in body) for body in bodies]
    assert tiers(events) == ["small"] * 3
    assert sources(events) == ["jeju-0", "jeju-1", "jeju-2"]
    assert items(events)[0].title == "성산일출봉"
    assert outcomes(events) == [(providers, "ok")] * 2
    assert summary(events).dropped_items == 1
    assert limits[1] > limits[0] / 3


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ('name = "error"', ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE),
        ('name = "overloaded"', ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE),
        ('name = "rate_limited"', ledger_pb2.DEGRADATION_REASON_RATE_LIMITED),
        ('name = "unauthorized"', ledger_pb2.DEGRADATION_REASON_NOT_AUTHORISED),
        ('name = "context_length"', ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE),
        ('name = "content_policy"', ledger_pb2.DEGRADATION_REASON_INVALID_OUTPUT),
        ('name = "refusal"', ledger_pb2.DEGRADATION_REASON_INVALID_OUTPUT),
        ('name = "reset"', ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE),
        ('name = "error_in_stream"', ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE),
        ('name = "error_in_stream"\nkind = "rate_limit"', ledger_pb2.DEGRADATION_REASON_RATE_LIMITED),
        ('name = "malformed_event"\nnth = 3', ledger_pb2.DEGRADATION_REASON_INVALID_OUTPUT),
        ('name = "close"\ntokens = 10', ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE),
    ],
)
@pytest.mark.parametrize("providers", ["anthropic openai", "openai anthropic"])
async def test_when_a_provider_fails_the_other_one_writes(providers: str, fault: str, reason: int) -> None:
    first, second = providers.split()
    endpoint = f'\nendpoint = "{first}*"'
    async with generator(fault + endpoint, providers=providers) as running:
        events = await generate(running.target)
    assert sources(events) == ["jeju-0", "jeju-1", "jeju-2"]
    assert tiers(events)[-1] in ("small", "large")
    assert {notice.reason for notice in notices(events)} == {reason}
    assert all(notice.stage == "generator.sights" for notice in notices(events))
    assert outcomes(events)[0][0] == first
    assert outcomes(events)[-1] == (second, "ok")
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_MAX_ITEMS


@pytest.mark.parametrize(
    "fault",
    [
        'name = "reset"\nitems = 1',
        'name = "close"\nitems = 1',
        'name = "error_in_stream"\nitems = 1',
        'name = "stall"\nitems = 1\nseconds = 20',
        'name = "truncated"\ntokens = 110',
    ],
)
async def test_after_a_first_item_only_the_rest_is_asked_for(fault: str) -> None:
    async with generator(fault + '\nendpoint = "anthropic*"\ntimes = 1', providers=BOTH) as running:
        events = await generate(running.target)
        entries = running.simulation.requests
    assert sources(events) == ["jeju-0", "jeju-1", "jeju-2"]
    assert [item.rank for item in items(events)] == [1, 2, 3]
    assert "extractive" not in tiers(events)
    last = entries[-1].body["messages"][-1]["content"]
    assert '"count":2' in last
    assert '"exclude":["r1"]' in last
    assert "성산일출봉" not in last


async def test_a_stale_connection_costs_nothing_but_another_try() -> None:
    async with generator('name = "reset"\ntimes = 1') as running:
        events = await generate(running.target)
    assert outcomes(events) == [("anthropic", "connection"), ("anthropic", "ok")]
    assert tiers(events) == ["small"] * 3


async def test_when_every_provider_fails_the_floor_writes() -> None:
    async with generator('name = "overloaded"', providers=BOTH) as running:
        events = await generate(running.target)
        assert len(running.simulation.requests) == 2
    assert tiers(events) == ["extractive"] * 3
    assert outcomes(events) == [("anthropic", "overloaded"), ("openai", "overloaded")]
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_UPSTREAM_EXHAUSTED
    assert summary(events).usage.input_tokens == 0


async def test_the_floor_writes_nothing_where_it_is_not_welcome() -> None:
    async with generator('name = "overloaded"') as running:
        events = await generate(running.target, budget=Budget(floor_tier=Tier.SMALL))
    assert items(events) == []
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_UPSTREAM_EXHAUSTED
    assert [stage.name for stage in summary(events).stages] == ["generator.sights"]


async def test_a_refused_key_is_not_tried_again_at_once() -> None:
    async with generator('name = "unauthorized"') as running:
        first = await generate(running.target)
        second = await generate(running.target)
        assert len(running.simulation.requests) == 1
    for events in (first, second):
        assert tiers(events) == ["extractive"] * 3
        assert [notice.reason for notice in notices(events)] == [ledger_pb2.DEGRADATION_REASON_NOT_AUTHORISED]


async def test_a_model_is_left_alone_for_as_long_as_its_provider_says() -> None:
    fault = 'name = "rate_limited"\nretry_after = 20\nmodel = "*haiku*"'
    async with generator(fault, providers=BOTH) as running:
        await generate(running.target)
        second = await generate(running.target)
    assert outcomes(second) == [("openai", "ok")]


async def test_a_provider_that_never_answers_costs_no_more_than_another_rung_needs() -> None:
    async with generator('name = "never_answers"\nendpoint = "anthropic*"', providers=BOTH) as running:
        started = time.monotonic()
        events = await generate(running.target, timeout=4.0, budget=WIDE)
        spent = time.monotonic() - started
    assert tiers(events) == ["small"] * 3
    assert outcomes(events) == [("anthropic", "timeout"), ("openai", "ok")]
    assert spent < 4.0


@pytest.mark.parametrize(
    "fault", ['name = "never_answers"', 'name = "slow_headers"\nseconds = 30', 'name = "slow_first_token"']
)
async def test_with_no_other_rung_silence_ends_on_the_floor_and_in_time(fault: str) -> None:
    async with generator(fault, settings={"anthropic_large_model": "-"}) as running:
        events = await generate(running.target, timeout=1.5, budget=WIDE)
        await running.simulation.until(lambda entries: entries[0].ended is not None)
    assert tiers(events) == ["extractive"] * 3
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_DEADLINE


async def test_pings_do_not_pass_for_content() -> None:
    faults = ('name = "stall"\ntokens = 0\nseconds = 20', 'name = "pings"\nseconds = 0.02')
    async with generator(*faults, settings={"anthropic_large_model": "-"}) as running:
        events = await generate(running.target, timeout=1.5, budget=WIDE)
    assert tiers(events) == ["extractive"] * 3
    assert outcomes(events)[0][1] == "timeout"


async def test_a_stream_that_drips_ends_in_time_with_what_is_there() -> None:
    async with generator('name = "slow_drip"\nseconds = 0.2', settings={"anthropic_large_model": "-"}) as running:
        events = await generate(running.target, timeout=1.5, budget=WIDE)
    assert tiers(events) == ["extractive"] * 3
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_DEADLINE


@pytest.mark.parametrize("fault", ["no_sources", "unknown_sources", "repeated_items"])
async def test_items_that_rest_on_nothing_or_come_twice_are_dropped_and_counted(fault: str) -> None:
    async with generator(f'name = "{fault}"') as running:
        events = await generate(running.target)
    end = summary(events)
    assert len(set(sources(events))) == len(items(events)) == 3
    assert all(source.startswith("jeju-") for source in sources(events))
    if "extractive" in tiers(events):
        assert end.dropped_items >= 1
        assert [notice.reason for notice in notices(events)] == [ledger_pb2.DEGRADATION_REASON_INVALID_OUTPUT]


async def test_an_answer_without_one_usable_item_is_a_failure_of_its_model() -> None:
    async with generator('name = "no_sources"\nitems = 9\nendpoint = "anthropic*"', providers=BOTH) as running:
        events = await generate(running.target)
    assert ("anthropic", "no_items") in outcomes(events)
    assert outcomes(events)[-1] == ("openai", "ok")
    assert tiers(events) == ["small"] * 3


async def test_the_connection_is_usable_after_every_kind_of_end() -> None:
    async with generator('name = "error_in_stream"\nitems = 1\ntimes = 1', 'name = "close"\ntimes = 1') as running:
        for _ in range(3):
            events = await generate(running.target, request(2))
            assert len(set(sources(events))) == 2
    assert outcomes(events) == [("anthropic", "ok")]
