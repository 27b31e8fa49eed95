"""Providers are warm before the first request, and again when they come back."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Mapping

import pytest

from headway.budget import Budget, Tier
from headway.deadline import Deadline
from headway.request import DeadlineSource, RequestScope, current_or_none, serving
from headway.settings import read
from headway.testing import eventually, hosting, task_names
from services.generator import warming
from services.generator.config import GeneratorConfig
from services.generator.furnishing import furnished, opened
from services.generator.service import GeneratorService
from services.generator.warming import Warming
from simulators import scenario_file
from simulators.server import running
from tests.wire.generator_parts import TRAVEL, generate, generator, hosted, outcomes, tiers

SCENARIO = 'extends = "zero"\n'


class Recovering:
    """A provider that can be reached at the nth try."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries = 0
        self.scopes: list[RequestScope | None] = []

    async def warm(self, connections: int, within: float) -> str:
        self.tries += 1
        self.scopes.append(current_or_none())
        return "refused" if self.tries <= self.failures else ""


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def settings(port: int) -> Mapping[str, str]:
    return {
        "HEADWAY_DOMAIN": str(TRAVEL),
        "HEADWAY_ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}/anthropic",
        "HEADWAY_ANTHROPIC_API_KEY": "key",
        "HEADWAY_GENERATOR_WARM_CONNECTIONS": "2",
    }


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(warming, "LONGEST_PAUSE", 0.02)


@pytest.mark.usefixtures("impatient")
async def test_a_provider_that_starts_later_is_warmed_and_used() -> None:
    port = closed_port()
    config = read(GeneratorConfig, settings(port))
    async with (
        opened(furnished(config), clock=time.monotonic) as desk,
        hosting(hosted(GeneratorService(desk, first_item_within=1.2))) as target,
    ):
        before = await generate(target)
        assert tiers(before) == ["extractive"] * 3
        assert "warming.anthropic" in await task_names()
        async with running(scenario=scenario_file.read(SCENARIO, name="later"), port=port):
            await eventually(lambda: not any(each.get_name() == "warming.anthropic" for each in asyncio.all_tasks()))
            after = await generate(target)
        assert outcomes(after) == [("anthropic", "ok")]
        assert tiers(after) == ["small"] * 3
    assert "warming.anthropic" not in await task_names()


@pytest.mark.usefixtures("impatient")
async def test_a_provider_that_is_lost_while_serving_is_warmed_again() -> None:
    scenario = scenario_file.read(SCENARIO, name="lost")
    async with running(scenario=scenario) as first:
        port = first.port
        context = opened(furnished(read(GeneratorConfig, settings(port))), clock=time.monotonic)
        desk = await context.__aenter__()
    try:
        async with hosting(hosted(GeneratorService(desk, first_item_within=1.2))) as target:
            assert tiers(await generate(target)) == ["extractive"] * 3
            assert "warming.anthropic" in await task_names()
            async with running(scenario=scenario, port=port):
                await eventually(lambda: all(each.get_name() != "warming.anthropic" for each in asyncio.all_tasks()))
                assert tiers(await generate(target)) == ["small"] * 3
    finally:
        await context.__aexit__(None, None, None)


@pytest.mark.usefixtures("impatient")
async def test_warming_belongs_to_no_request_and_runs_once_for_each_provider() -> None:
    provider = Recovering(failures=3)
    deadline = Deadline.after(0.0, time.monotonic)
    scope = RequestScope(
        request_id="x",
        deadline=deadline,
        source=DeadlineSource.CALLER,
        budget=Budget(floor_tier=Tier.EXTRACTIVE),
        arrived=time.monotonic(),
        clock=time.monotonic,
    )
    async with asyncio.TaskGroup() as tasks:
        keeping = Warming(tasks, {"p": provider}, connections=1)
        with serving(scope):
            keeping.lost("p")
            keeping.lost("p")
    assert provider.tries == 4
    assert provider.scopes == [None] * 4


async def test_pauses_grow_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def noted(span: float) -> None:
        pauses.append(span)

    monkeypatch.setattr(warming.asyncio, "sleep", noted)
    provider = Recovering(failures=9)
    async with asyncio.TaskGroup() as tasks:
        Warming(tasks, {"p": provider}, connections=1, draw=lambda: 0.0).lost("p")
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]


async def test_a_fault_of_the_block_comes_out_as_it_was() -> None:
    with pytest.raises(LookupError, match="mine"):
        async with warming.warmed({"p": Recovering(failures=0)}, connections=1):
            raise LookupError("mine")


async def test_nothing_is_left_when_the_generator_ends_while_a_provider_is_missing() -> None:
    async with opened(furnished(read(GeneratorConfig, settings(closed_port()))), clock=time.monotonic):
        assert "warming.anthropic" in [each.get_name() for each in asyncio.all_tasks()]
    assert "warming.anthropic" not in await task_names()


async def test_a_working_generator_warms_nothing_more() -> None:
    async with generator() as serving_now:
        await generate(serving_now.target)
        assert "warming.anthropic" not in await task_names()
