"""What the generator records of a request, and what its calls carry to providers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from headway.server import SharedConfig
from headway.settings import read
from headway.testing import hosting
from services.generator.config import GeneratorConfig
from services.generator.furnishing import furnished, opened
from services.generator.service import GeneratorService
from simulators import scenario_file
from simulators.server import running
from tests.wire import generator_parts as parts
from tests.wire.collector import Collector, collecting

QUIET = {"drain_notice": 0.0, "drain_grace": 1.0}
FIRST_CALL_FAILS = '[[faults]]\nname = "overloaded"\ntimes = 1\n'


@asynccontextmanager
async def traced(
    scenario: str = "", providers: str = "anthropic openai", **settings: bool
) -> AsyncIterator[tuple[parts.Running, Collector]]:
    async with (
        collecting() as collector,
        running(scenario=scenario_file.read(f'extends = "zero"\n{scenario}', name="t")) as simulation,
    ):
        environment = parts.environment_of(simulation, providers.split(), {})
        shared = SharedConfig(otlp_endpoint=collector.url, **QUIET, **settings)
        async with opened(furnished(read(GeneratorConfig, environment)), clock=time.monotonic) as desk:
            hosted = parts.hosted(GeneratorService(desk, first_item_within=1.2))
            async with hosting(hosted, shared=shared) as target:
                simulation.world.journal.reset()
                yield parts.Running(target=target, simulation=simulation), collector


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_no_header_of_a_trace_reaches_a_provider_unless_that_is_switched_on(provider: str) -> None:
    for switched_on in (False, True):
        async with traced(providers=provider, trace_providers=switched_on) as (generator, collector):
            await parts.generate(generator.target)
            [entry] = generator.simulation.world.journal.entries
        [served] = collector.named("headway.v1.GeneratorService/Generate")
        header = f"00-{served.trace_id.hex()}-{served.span_id.hex()}-01"
        assert entry.headers.get("traceparent") == (header if switched_on else None)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_one_call_to_a_provider_is_one_span(provider: str) -> None:
    async with traced(providers=provider, trace_providers=True) as (generator, collector):
        await parts.generate(generator.target)
    assert sorted(span.name.split()[0] for span in collector.spans) == [
        "chat",
        "generator.sights",
        "headway.v1.GeneratorService/Generate",
    ]


async def test_prompts_and_items_are_recorded_where_that_is_switched_on() -> None:
    async with traced(trace_content=True) as (generator, collector):
        items = parts.items(await parts.generate(generator.target))
    [served] = collector.named("headway.v1.GeneratorService/Generate")
    assert "제주도 3박4일 가족여행" in served.attributes["headway.prompt.1"]
    assert served.attributes["headway.item.1"] == f"{items[0].title}\n{items[0].body}"


async def test_a_second_attempt_begins_where_the_first_one_ended() -> None:
    async with traced(FIRST_CALL_FAILS) as (generator, collector):
        await parts.generate(generator.target)
    first, second = sorted(
        (span for span in collector.spans if span.name.startswith("chat ")), key=lambda span: span.start
    )
    assert first.error
    assert first.attributes["error.type"] == first.attributes["headway.attempt.outcome"] == "overloaded"
    assert first.end <= second.start + 1_000_000
    [stage] = collector.named("generator.sights")
    assert collector.parent(first) == collector.parent(second) == stage
