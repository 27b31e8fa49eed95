"""Traces and metrics of a request, through a real collector and a real scrape."""

from __future__ import annotations

import sys
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from headway import request
from headway.ledger import Attempt, Degradation, Degraded, Stage, Usage
from headway.metrics import MOST_VALUES, OTHER, Metrics, exposed
from headway.request import current, within
from headway.server import SharedConfig
from headway.telemetry import NO_SPAN, NoTracer, TraceRules, tracer
from headway.telemetry_otlp import attempt_attributes
from tests.wire.collector import collecting
from tests.wire.scripted import Script, ask, items, orchestrator, routes_to_korean_travel, writes_all

QUIET = {"drain_notice": 0.0, "drain_grace": 1.0}
ATTEMPT = Attempt(
    backend="anthropic",
    model="claude-x",
    outcome="ok",
    spent=1.1,
    ttft=0.1,
    usage=Usage(input_tokens=100, output_tokens=101, cache_read_tokens=80, cost_usd=0.5),
)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


async def test_one_request_is_one_trace_over_all_services() -> None:
    async with collecting() as collector:
        shared = SharedConfig(otlp_endpoint=collector.url, **QUIET)
        async with orchestrator(Script(), shared=shared) as target:
            assert len(items(await ask(target))) == 9
        # Leaving exports what is left.
    [root] = collector.named("headway.v1.RecommendationService/Recommend")
    assert {span.trace_id for span in collector.spans} == {root.trace_id}
    assert root.parent_id == b""
    assert {span.service for span in collector.spans} == {
        "headway-recommendation",
        "headway-router",
        "headway-retrieval",
        "headway-generator",
    }
    for server_span, stage in [
        ("headway.v1.RouterService/Route", "router"),
        ("headway.v1.RetrievalService/Retrieve", "retrieval"),
    ]:
        [served] = collector.named(server_span)
        parent = collector.parent(served)
        assert parent is not None
        assert parent.name == stage
        assert collector.parent(parent) == root
    generated = collector.named("headway.v1.GeneratorService/Generate")
    assert {getattr(collector.parent(span), "name", "") for span in generated} == {
        "generator.lodging",
        "generator.food",
        "generator.sights",
    }
    assert root.attributes["rpc.system.name"] == "grpc"
    assert root.attributes["rpc.method"] == "headway.v1.RecommendationService/Recommend"
    assert root.attributes["rpc.response.status_code"] == "OK"


async def test_stages_and_attempts_of_the_ledger_become_spans_with_genai_attributes() -> None:
    async def route(_request: Any, _context: Any) -> Any:
        stage = Stage(name="inner", spent=0.02, allowance=0.01, rung="small", attempts=(ATTEMPT,), started_after=0.001)
        current().record([stage])
        return await routes_to_korean_travel(_request, _context)

    async with collecting() as collector:
        async with orchestrator(Script(route=route), shared=SharedConfig(otlp_endpoint=collector.url, **QUIET)) as at:
            await ask(at)
    [inner] = collector.named("inner")
    [call] = collector.named("chat claude-x")
    assert collector.parent(call) == inner
    assert inner.end - inner.start == 20_000_000
    assert call.attributes["gen_ai.provider.name"] == "anthropic"
    assert call.attributes["gen_ai.usage.input_tokens"] == 100
    assert call.attributes["gen_ai.usage.cache_read.input_tokens"] == 80


async def test_queries_are_recorded_only_where_that_is_switched_on() -> None:
    for content, expected in [(False, False), (True, True)]:
        async with collecting() as collector:
            shared = SharedConfig(otlp_endpoint=collector.url, trace_content=content, **QUIET)
            async with orchestrator(Script(), shared=shared) as target:
                await ask(target, query="제주 비밀 여행")
        recorded = [span for span in collector.spans if "제주 비밀 여행" in span.attributes.values()]
        assert bool(recorded) is expected


async def test_a_sample_of_none_leaves_the_whole_trace_out() -> None:
    async with collecting() as collector:
        shared = SharedConfig(otlp_endpoint=collector.url, trace_sample=0.0, **QUIET)
        async with orchestrator(Script(), shared=shared) as target:
            await ask(target)
    assert collector.spans == []


def test_without_an_endpoint_nothing_is_traced() -> None:
    assert isinstance(tracer("router", TraceRules(endpoint="", sample=1.0, content=False)), NoTracer)
    assert NO_SPAN.child("x", {}) is NO_SPAN
    assert NO_SPAN.traceparent() == ""


async def test_without_an_endpoint_nothing_of_what_tracing_needs_is_even_imported() -> None:
    code = (
        "import sys, headway.server, headway.telemetry as t;"
        "t.tracer('x', t.TraceRules(endpoint='', sample=1.0, content=False));"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    import asyncio

    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await asyncio.wait_for(process.wait(), 60) == 0


async def test_a_failed_part_ends_its_span_with_the_class_of_the_error() -> None:
    async def generate(asked: Any, context: Any) -> None:
        with pytest.raises(KeyError), within("part", {}):
            raise KeyError("x")
        await writes_all(asked, context)

    async with collecting() as collector:
        shared = SharedConfig(otlp_endpoint=collector.url, **QUIET)
        async with orchestrator(Script(generate=generate), shared=shared) as target:
            await ask(target, sections=["food"], max_items=2)
    [part] = collector.named("part")
    assert part.error
    assert part.attributes["error.type"] == "KeyError"


def test_renamed_attributes_are_sent_under_both_names() -> None:
    attributes = attempt_attributes(ATTEMPT)
    assert attributes["gen_ai.usage.cache_write.input_tokens"] == attributes["gen_ai.usage.cache_creation.input_tokens"]


async def test_a_scrape_shows_what_the_ledger_says() -> None:
    metrics = Metrics()
    metrics.stages([Stage(name="generator.food", spent=0.3, allowance=0.2, rung="small", attempts=(ATTEMPT, ATTEMPT))])
    metrics.degraded(Degraded(stage="retrieval.web", reason=Degradation.OUT_OF_TIME, detail="late"))
    metrics.ended("a/B", code="OK", spent=0.5, left=0.2, hedge=True)
    metrics.answered(finish="MAX_ITEMS", total=1.0, first_item=0.3)
    metrics.item("food", "SMALL")
    async with exposed(metrics, "127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
            families = {family.name: family for family in text_string_to_metric_families(await answer.text())}
    assert {"headway_stage_duration_seconds", "headway_ttft_seconds", "headway_tpot_seconds"} <= set(families)
    assert value(metrics, "headway_tokens_total", backend="anthropic", model="claude-x", kind="cache_read") == 160
    assert value(metrics, "headway_tpot_seconds_sum", backend="anthropic", model="claude-x") == pytest.approx(0.02)
    assert value(metrics, "headway_retries_total", stage="generator.food") == 1
    assert value(metrics, "headway_allowance_overruns_total", stage="generator.food") == 1
    assert value(metrics, "headway_degradations_total", stage="retrieval.web", reason="out_of_time") == 1
    assert value(metrics, "headway_deadlines_total", method="a/B", result="hit") == 1
    assert value(metrics, "headway_hedges_total", method="a/B") == 1


def test_a_call_that_outlived_its_deadline_counts_as_missed_and_one_whose_caller_left_as_neither() -> None:
    metrics = Metrics()
    metrics.ended("m", code="OK", spent=1, left=0.0, hedge=False)
    metrics.ended("m", code="CANCELLED", spent=1, left=0.0, hedge=False)
    assert value(metrics, "headway_deadlines_total", method="m", result="missed") == 1
    assert value(metrics, "headway_deadlines_total", method="m", result="hit") == 0


def test_unknown_models_and_endless_names_collapse_to_other() -> None:
    metrics = Metrics()
    metrics.know_models(["claude-x"])
    stray = Attempt(backend="anthropic", model="gpt-surprise", outcome="ok", spent=1.0)
    metrics.stages([Stage(name=f"s{number}", spent=0.1, attempts=(stray,)) for number in range(MOST_VALUES + 5)])
    assert value(metrics, "headway_attempts_total", backend="anthropic", model=OTHER, outcome="ok") == MOST_VALUES + 5
    assert value(metrics, "headway_stage_duration_seconds_count", stage=OTHER, rung="") == 5


def test_outside_of_a_request_there_is_no_span() -> None:
    with pytest.raises(LookupError):
        request.current()
