"""The generator over real gRPC with well-behaved providers: what it sends, when, and what it asks of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import grpc
import pytest

from headway.budget import Budget, Tier
from headway.metrics import Metrics
from headway.telemetry import NoTracer, Telemetry
from headway.testing import eventually, plain_channel, task_names
from headway.v1 import generator_pb2, generator_pb2_grpc, ledger_pb2, router_pb2
from tests.wire.generator_parts import generate, generator, items, kinds, notices, outcomes, request, summary, tiers

LOCAL = {"openai_small_model": "local-small", "openai_large_model": "-"}


@pytest.mark.parametrize(
    ("providers", "settings"),
    [("anthropic", {}), ("openai", {}), ("openai", LOCAL)],
    ids=["anthropic", "openai", "lines"],
)
async def test_a_plan_then_items_then_a_summary(providers: str, settings: dict[str, str]) -> None:
    async with generator(providers=providers, settings=settings) as running:
        events = await generate(running.target)
    assert kinds(events) == ["plan", "item", "item", "item", "summary"]
    plan = events[0].plan
    assert (plan.rung, plan.backend) == ("small", providers)
    assert plan.max_tokens > 0
    assert plan.reason
    assert [(item.item_id, item.rank, item.section) for item in items(events)] == [
        ("sights-1", 1, "sights"),
        ("sights-2", 2, "sights"),
        ("sights-3", 3, "sights"),
    ]
    assert tiers(events) == ["small"] * 3
    end = summary(events)
    assert (end.finish_reason, end.items, end.dropped_items) == (generator_pb2.FINISH_REASON_MAX_ITEMS, 3, 0)
    assert outcomes(events) == [(providers, "ok")]


async def test_an_item_carries_the_place_and_facts_of_its_record() -> None:
    async with generator() as running:
        item = items(await generate(running.target))[0]
    assert list(item.sources) == ["jeju-0"]
    assert item.title == "성산일출봉"
    assert item.body
    assert item.reason
    assert (item.place.latitude, item.place.address, item.place.country) == (33.0, "서귀포시", "KR")
    assert item.attributes["price_level"] == 1


async def test_items_are_sent_while_the_model_still_writes() -> None:
    async with generator(per_token=0.004) as running, plain_channel(running.target) as channel:
        stub: Any = generator_pb2_grpc.GeneratorServiceStub(channel)
        async for event in stub.Generate(request(), timeout=10):
            if event.HasField("item"):
                (entry,) = running.simulation.requests
                assert entry.outcome == "running"
                assert entry.output_tokens > 0
                break


async def test_ranks_begin_where_the_caller_says() -> None:
    async with generator() as running:
        events = await generate(running.target, request(2, first_rank=4))
    assert [(item.rank, item.item_id) for item in items(events)] == [(4, "sights-4"), (5, "sights-5")]


async def test_records_that_were_written_about_do_not_come_again() -> None:
    async with generator() as running:
        events = await generate(running.target, request(excluded_record_ids=["jeju-0", "jeju-2"]))
        (entry,) = running.simulation.requests
    assert [item.sources[0] for item in items(events)] == ["jeju-1", "jeju-3", "jeju-4"]
    assert "성산일출봉" not in entry.body["messages"][-1]["content"]


async def test_fewer_records_give_fewer_items() -> None:
    async with generator() as running:
        events = await generate(running.target, request(5, records=2))
    assert len(items(events)) == 2
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_COMPLETE
    assert notices(events) == []


async def test_when_every_record_was_written_about_nothing_is_asked() -> None:
    async with generator() as running:
        events = await generate(running.target, request(2, records=1, excluded_record_ids=["jeju-0"]))
        assert running.simulation.requests == []
    assert items(events) == []
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_COMPLETE


async def test_anthropic_is_asked_with_a_cached_prefix_and_a_schema() -> None:
    async with generator() as running:
        await generate(running.target)
        (entry,) = running.simulation.requests
    body = entry.body
    assert body["model"] == "claude-haiku-5-5"
    assert [block["cache_control"] for block in body["system"]] == [{"type": "ephemeral"}]
    schema = body["output_config"]["format"]["schema"]
    assert list(schema["properties"]["items"]["items"]["properties"]) == ["sources", "title", "body", "reason"]
    assert body["messages"][-1]["content"].startswith("<request>\n")
    assert "temperature" not in body
    assert "traceparent" not in entry.headers


async def test_openai_is_asked_with_a_cache_key_and_a_strict_schema() -> None:
    async with generator(providers="openai") as running:
        await generate(running.target)
        (entry,) = running.simulation.requests
    body = entry.body
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["prompt_cache_key"].startswith("headway-travel-")
    assert body["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    assert body["store"] is False
    assert body["max_completion_tokens"] > 0
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


async def test_a_compatible_server_is_asked_only_for_what_it_may_know() -> None:
    async with generator(providers="openai", settings=LOCAL) as running:
        await generate(running.target)
        (entry,) = running.simulation.requests
    assert set(entry.body) == {"model", "stream", "stream_options", "messages", "max_tokens"}
    assert entry.body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("providers", ["anthropic", "openai"])
async def test_tokens_are_counted_and_the_second_request_reads_the_prefix_from_the_cache(providers: str) -> None:
    async with generator(providers=providers) as running:
        first, second = [summary(await generate(running.target)).usage for _ in range(2)]
        entries = running.simulation.requests
    assert first.input_tokens == entries[0].input_tokens
    assert first.output_tokens == entries[0].output_tokens
    assert (first.cache_read_tokens, first.cache_write_tokens) == (0, entries[0].cache_write_tokens)
    assert second.cache_read_tokens == entries[1].cache_read_tokens > 1_000
    assert 0 < second.cost_usd < first.cost_usd


@pytest.mark.parametrize("providers", ["anthropic", "openai"])
async def test_one_connection_serves_one_request_after_the_other(providers: str) -> None:
    async with generator(providers=providers) as running:
        for _ in range(4):
            await generate(running.target)
        assert [entry.new_connection for entry in running.simulation.requests] == [False] * 4


async def test_the_prefix_does_not_depend_on_the_request() -> None:
    async with generator() as running:
        await generate(running.target)
        await generate(running.target, request(1, query="2-day Jeju trip", language="en", section="food"))
        one, other = [entry.body for entry in running.simulation.requests]
    assert json.dumps(one["system"]) == json.dumps(other["system"])
    assert one["output_config"] == other["output_config"]
    assert one["messages"] != other["messages"]


async def test_a_complex_query_with_time_goes_to_the_large_model() -> None:
    async with generator() as running:
        events = await generate(running.target, request(complexity=router_pb2.COMPLEXITY_COMPLEX), timeout=30)
    assert (events[0].plan.rung, events[0].plan.model) == ("large", "claude-sonnet-5-5")
    assert tiers(events) == ["large"] * 3


async def test_the_tiers_of_the_budget_are_kept() -> None:
    async with generator() as running:
        large = await generate(running.target, timeout=30, budget=Budget(floor_tier=Tier.LARGE))
        floor = await generate(running.target, timeout=30, budget=Budget(ceiling_tier=Tier.EXTRACTIVE))
        assert [entry.model for entry in running.simulation.requests] == ["claude-sonnet-5-5"]
    assert tiers(large) == ["large"] * 3
    assert tiers(floor) == ["extractive"] * 3
    assert [notice.reason for notice in notices(floor)] == [ledger_pb2.DEGRADATION_REASON_SWITCHED_OFF]
    assert summary(floor).finish_reason == generator_pb2.FINISH_REASON_MAX_ITEMS


async def test_with_little_time_the_floor_writes_and_no_provider_is_called() -> None:
    async with generator() as running:
        events = await generate(running.target, timeout=0.15)
        assert running.simulation.requests == []
    assert (events[0].plan.rung, events[0].plan.backend, events[0].plan.max_tokens) == ("extractive", "", 0)
    assert tiers(events) == ["extractive"] * 3
    assert [item.title for item in items(events)] == ["성산일출봉", "섭지코지", "한라산"]
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_DEADLINE
    assert [stage.name for stage in summary(events).stages] == ["generator.sights", "floor.sights"]
    assert [notice.reason for notice in notices(events)] == [ledger_pb2.DEGRADATION_REASON_OUT_OF_TIME]


async def test_without_any_key_the_floor_writes() -> None:
    async with generator(providers="") as running:
        events = await generate(running.target)
    assert tiers(events) == ["extractive"] * 3
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_UPSTREAM_EXHAUSTED


async def test_a_stream_is_stopped_after_an_item_when_the_next_one_would_come_too_late() -> None:
    # 70 tokens an item at 15 ms: one second each, where the pace that is expected allows all three in two seconds.
    async with generator(per_token=0.015) as running:
        events = await generate(running.target, timeout=2.0, budget=Budget(reserve=0.1))
        await running.simulation.until(lambda entries: entries[0].outcome == "disconnected")
    assert tiers(events) == ["small", "extractive", "extractive"]
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_DEADLINE
    assert outcomes(events) == [("anthropic", "stopped")]
    usage = summary(events).usage
    assert usage.input_tokens > 1_000
    assert usage.output_tokens > 20
    assert len({item.sources[0] for item in items(events)}) == 3


@pytest.mark.parametrize("providers", ["anthropic", "openai"])
async def test_when_the_caller_leaves_the_connection_to_the_provider_is_closed(providers: str) -> None:
    async with generator(providers=providers, per_token=0.01) as running:
        before = await task_names()
        async with plain_channel(running.target) as channel:
            stub: Any = generator_pb2_grpc.GeneratorServiceStub(channel)
            call = stub.Generate(request(), timeout=10)
            async for event in call:
                if event.HasField("item"):
                    break
            call.cancel()
            await running.simulation.until(lambda entries: entries[0].outcome == "disconnected")
        (entry,) = running.simulation.requests
        assert entry.output_tokens < 150
        await eventually(lambda: _nothing_new(before), what="the end of all tasks")
        assert tiers(await generate(running.target)) == ["small"] * 3


async def _nothing_new(before: list[str]) -> bool:
    return len(await task_names()) <= len(before)


async def test_many_callers_at_once_each_get_their_items() -> None:
    async with generator(per_token=0.0005) as running:
        answers = await asyncio.gather(*(generate(running.target) for _ in range(12)))
    assert [len(items(events)) for events in answers] == [3] * 12


async def test_a_request_that_breaks_the_rules_is_refused() -> None:
    async with generator() as running:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await generate(running.target, request(records=0))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("providers", ["anthropic", "openai"])
async def test_a_prefix_that_stops_hitting_the_provider_s_cache_is_counted_once(providers: str) -> None:
    watched = Telemetry(tracer=NoTracer(), metrics=Metrics())
    async with generator(providers=providers, telemetry=watched) as running:
        for expired in [False, False, *[True] * 5]:
            if expired:
                running.simulation.skip(3600.0)  # the provider's entry is gone before its time
            assert outcomes(await generate(running.target)) == [(providers, "ok")]
    lost = watched.metrics.cache_losses.collect()[0].samples
    assert [sample.value for sample in lost if sample.name.endswith("_total")] == [1.0]
