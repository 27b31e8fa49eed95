"""The generator over OpenAI's Responses API."""

from __future__ import annotations

import pytest

from headway.v1 import generator_pb2, ledger_pb2
from tests.wire.generator_parts import generate, generator, items, kinds, notices, outcomes, request, summary, tiers

RESPONSES = {"openai_api": "responses"}


async def test_it_is_asked_for_what_chat_is_asked_for_and_to_store_nothing() -> None:
    async with generator(providers="openai", settings=RESPONSES) as running:
        events = await generate(running.target)
        (entry,) = running.simulation.requests
    body = entry.body
    assert entry.endpoint == "openai.responses"
    assert body["store"] is False
    assert body["stream_options"] == {"include_obfuscation": False}
    assert body["prompt_cache_key"].startswith("headway-travel-")
    assert body["reasoning"] == {"effort": "none"}
    form = body["text"]["format"]
    assert (form["type"], form["strict"]) == ("json_schema", True)
    assert list(form["schema"]["properties"]["items"]["items"]["properties"]) == ["sources", "title", "body", "reason"]
    assert body["max_output_tokens"] >= 16
    assert body["instructions"]
    assert [message["role"] for message in body["input"]] == ["user"]
    assert kinds(events) == ["plan", "item", "item", "item", "summary"]
    assert summary(events).usage.output_tokens > 0


async def test_a_second_request_reads_the_prefix_from_the_cache() -> None:
    async with generator(providers="openai", settings=RESPONSES) as running:
        first = summary(await generate(running.target)).usage
        second = summary(await generate(running.target)).usage
    assert first.cache_read_tokens == 0
    assert 0 < second.cache_read_tokens < second.input_tokens


@pytest.mark.parametrize("shape", ["event", "nested", "failed"])
@pytest.mark.parametrize(
    ("kind", "outcome"), [("overloaded", "overloaded"), ("rate_limit", "rate_limited"), ("server", "server_error")]
)
async def test_an_error_inside_the_stream_is_named_whatever_its_shape(shape: str, kind: str, outcome: str) -> None:
    fault = f'name = "error_in_stream"\nitems = 1\nshape = "{shape}"\nkind = "{kind}"\nendpoint = "openai.responses"'
    async with generator(fault, providers="openai anthropic", settings=RESPONSES) as running:
        events = await generate(running.target)
    assert outcomes(events)[0] == ("openai", outcome)
    assert outcomes(events)[-1] == ("anthropic", "ok")
    assert [item.sources[0] for item in items(events)] == ["jeju-0", "jeju-1", "jeju-2"]


@pytest.mark.parametrize(
    ("fault", "outcome", "reason"),
    [
        ('name = "refusal"', "refused", ledger_pb2.DEGRADATION_REASON_INVALID_OUTPUT),
        ('name = "rate_limited"', "rate_limited", ledger_pb2.DEGRADATION_REASON_RATE_LIMITED),
        ('name = "unauthorized"', "unauthorised", ledger_pb2.DEGRADATION_REASON_NOT_AUTHORISED),
        ('name = "context_length"', "context_length", ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE),
    ],
)
async def test_what_it_refuses_has_the_same_names_as_elsewhere(fault: str, outcome: str, reason: int) -> None:
    async with generator(fault, providers="openai", settings={**RESPONSES, "openai_large_model": "-"}) as running:
        events = await generate(running.target)
    assert outcomes(events)[0] == ("openai", outcome)
    assert reason in [notice.reason for notice in notices(events)]
    assert tiers(events) == ["extractive"] * 3


async def test_an_answer_that_reached_its_limit_is_asked_for_again_for_the_rest() -> None:
    fault = 'name = "truncated"\ntokens = 110\ntimes = 1'
    async with generator(fault, providers="openai", settings=RESPONSES) as running:
        events = await generate(running.target, request(3))
        first, second = running.simulation.requests
    assert [item.sources[0] for item in items(events)] == ["jeju-0", "jeju-1", "jeju-2"]
    assert "extractive" not in tiers(events)
    assert '"exclude":["r1"]' in second.body["input"][-1]["content"]
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_MAX_ITEMS
    assert first.endpoint == "openai.responses"
