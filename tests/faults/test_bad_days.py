"""The whole mesh as real processes on bad days: nothing hangs, everything says what to do, the next request works."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
import pytest_asyncio

from bench.processes import Running, mesh, process, simulators, started
from headway.errors import reason_of
from headway.testing import PATIENCE, eventually, plain_channel
from headway.v1 import generator_pb2, item_pb2, ledger_pb2, recommendation_pb2, recommendation_pb2_grpc

JEJU = "제주도 3박4일 가족여행"
EXTRACTIVE = item_pb2.TIER_EXTRACTIVE
Event = recommendation_pb2.RecommendResponse
pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def asking(target: str, *, timeout: float | None, **fields: Any) -> AsyncIterator[Any]:
    """A call under way; cancelled at the end of the block."""
    request = recommendation_pb2.RecommendRequest(**({"query": JEJU} | fields))
    async with plain_channel(target) as channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(channel)
        call = stub.Recommend(request, timeout=timeout)
        try:
            yield call
        finally:
            call.cancel()


async def ask(target: str, *, timeout: float | None = 5.0, **fields: Any) -> list[Event]:
    """All events of an answer, which must be over before its deadline."""
    began = time.monotonic()
    async with asking(target, timeout=timeout, **fields) as call:
        events = [event async for event in call]
    assert timeout is None or time.monotonic() - began <= timeout + 0.05
    assert events[0].WhichOneof("event") == "plan"
    assert events[-1].WhichOneof("event") == "summary"
    return events


def items(events: list[Event]) -> list[item_pb2.Item]:
    return [event.item for event in events if event.WhichOneof("event") == "item"]


def reasons(events: list[Event]) -> set[int]:
    return {event.notice.reason for event in events if event.WhichOneof("event") == "notice"}


async def until_item(events: AsyncIterator[Event]) -> None:
    """Reads up to the first item."""
    async for event in events:
        if event.WhichOneof("event") == "item":
            return
    raise AssertionError("the stream ended without an item")


async def recorded(running: Running) -> list[dict[str, Any]]:
    """What the simulators were asked."""
    async with aiohttp.ClientSession() as session, session.get(f"{running.upstream.url}/control/requests") as answer:
        listed = await answer.json()
    found: list[dict[str, Any]] = listed if isinstance(listed, list) else listed["requests"]
    return found


def scenario(folder: Path, text: str) -> str:
    """A scenario file of a test's own."""
    path = folder / "scenario.toml"
    path.write_text(f'extends = "default"\ndescription = "a test"\n{text}\n', encoding="utf-8")
    return str(path)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running() -> AsyncIterator[Running]:
    """A mesh that tests share which do it no harm."""
    async with started(scenario="default") as mesh_that_runs:
        yield mesh_that_runs


async def test_a_generator_killed_mid_stream_leaves_the_rest_to_the_floor() -> None:
    async with started(scenario="default") as running:
        async with asking(running.target, timeout=8.0) as call:
            events = aiter(call)
            await until_item(events)
            os.kill(running.pids["generator"], signal.SIGKILL)
            rest = [event async for event in events]
        assert rest[-1].summary.items == 9
        assert EXTRACTIVE in {each.tier for each in items(rest)}
        assert rest[-1].summary.finish_reason == generator_pb2.FINISH_REASON_UPSTREAM_EXHAUSTED
        again = await ask(running.target)
        assert {each.tier for each in items(again)} == {EXTRACTIVE}
        assert len(items(again)) == 9


async def test_a_mesh_without_its_router_answers_all_the_same() -> None:
    services = ("retrieval", "generator", "orchestrator")
    async with simulators(scenario="zero") as upstream:
        async with mesh(upstream, services=services, environment={"HEADWAY_START_PATIENCE": "0s"}) as running:
            events = await ask(running.target)
    assert len(items(events)) == 9
    assert events[0].plan.language == "ko"
    assert ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE in reasons(events)


async def test_retrieval_that_dies_ends_in_a_clear_status() -> None:
    async with started() as running:
        assert len(items(await ask(running.target))) == 9
        os.kill(running.pids["retrieval"], signal.SIGKILL)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(running.target)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(caught.value) == "UPSTREAM_UNAVAILABLE"
    assert "retrieval" in str(caught.value.details())


async def test_a_provider_that_refuses_the_key_costs_quality_but_no_answer(tmp_path: Path) -> None:
    async with started(scenario=scenario(tmp_path, 'keys = ["another"]')) as running:
        for _ in range(2):
            events = await ask(running.target)
            assert len(items(events)) == 9
            assert {each.tier for each in items(events)} == {EXTRACTIVE}
            assert ledger_pb2.DEGRADATION_REASON_NOT_AUTHORISED in reasons(events)


async def test_providers_that_never_answer_are_left_in_time(tmp_path: Path) -> None:
    silent = '[[faults]]\nname = "never_answers"\nendpoint = "*"\n'
    async with started(scenario=scenario(tmp_path, silent)) as running:
        events = await ask(running.target, timeout=2.0)
    assert len(items(events)) == 9
    assert {each.tier for each in items(events)} == {EXTRACTIVE}


async def test_a_day_on_which_every_fifth_call_meets_a_fault_still_answers_everyone() -> None:
    async with started(scenario="bad-day") as running:
        answers = [await ask(running.target, timeout=4.0, max_items=6) for _ in range(12)]
    assert [len(items(events)) for events in answers] == [6] * 12
    for events in answers:
        listed = items(events)
        assert len({each.sources[0] for each in listed}) == 6
        assert all(each.title for each in listed)


async def test_an_orchestrator_that_is_told_to_stop_finishes_what_runs() -> None:
    async with started(scenario="default") as running:
        async with asking(running.target, timeout=8.0) as call:
            events = aiter(call)
            await until_item(events)
            os.kill(running.pids["orchestrator"], signal.SIGTERM)
            rest = [event async for event in events]
        assert rest[-1].summary.items == 9


async def test_a_missing_model_file_is_said_in_plain_words(tmp_path: Path) -> None:
    environment = {"HEADWAY_MODELS": str(tmp_path), "HEADWAY_ROUTER_LISTEN": "127.0.0.1:0"}
    log = tmp_path / "router.log"
    async with process("services.router", (), environment, log=log) as child:
        assert await asyncio.wait_for(child.running.wait(), 60 * PATIENCE) == 69
    assert "make models" in log.read_text(encoding="utf-8")


async def test_settings_that_make_no_sense_are_all_told_before_anything_runs(tmp_path: Path) -> None:
    environment = {"HEADWAY_RESERVE": "50", "HEADWAY_ORCHESTRATOR_LISTEN": "nowhere"}
    log = tmp_path / "orchestrator.log"
    async with process("services.orchestrator", (), environment, log=log) as child:
        assert await asyncio.wait_for(child.running.wait(), 60 * PATIENCE) == 78
    said = log.read_text(encoding="utf-8")
    assert "HEADWAY_RESERVE" in said
    assert "HEADWAY_ORCHESTRATOR_LISTEN" in said


async def test_a_caller_that_leaves_closes_the_providers_connections(running: Running) -> None:
    async with asking(running.target, timeout=30.0) as call:
        await until_item(aiter(call))

    async def all_closed() -> bool:
        asked = [each for each in await recorded(running) if "messages" in str(each)]
        return bool(asked) and all(each["ended"] is not None for each in asked)

    await eventually(all_closed, what="every provider call ended")
    outcomes = {each["outcome"] for each in await recorded(running) if "messages" in str(each)}
    assert "disconnected" in outcomes
    assert len(items(await ask(running.target))) == 9


@pytest.mark.parametrize(
    ("deadline", "holds"),
    [
        (0.8, lambda listed: len(listed) == 9),
        (0.15, lambda listed: {each.tier for each in listed} == {EXTRACTIVE}),
    ],
)
async def test_short_deadlines_get_plainer_items_in_time(
    running: Running, deadline: float, holds: Callable[[list[item_pb2.Item]], bool]
) -> None:
    for _ in range(3):
        listed = items(await ask(running.target, timeout=deadline))
        assert listed
        assert holds(listed)


async def test_a_query_in_a_language_the_model_lacks_is_answered_with_a_notice(running: Running) -> None:
    events = await ask(running.target, query="जेजू द्वीप पर परिवार के साथ तीन दिन की यात्रा")
    assert ledger_pb2.DEGRADATION_REASON_UNSUPPORTED_LANGUAGE in reasons(events)
    assert events[-1].summary.finish_reason != generator_pb2.FINISH_REASON_UNSPECIFIED
