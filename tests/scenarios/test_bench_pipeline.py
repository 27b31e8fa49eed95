from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import orjson
import pytest

from bench.arms import queries
from bench.arms.assembling import ENCODER, Surroundings, assembled, known
from bench.arms.techniques import FLOOR, MESH, NAIVE, STEPS, names
from headway import domain as domains
from headway import embedding
from simulators.scenario_file import read
from simulators.server import Simulation, running

# One web search in the order of a second, so that what waits for it can be told; everything else takes no time.
SLOW_WEB = 'extends = "zero"\n[web]\nlatency = 0.6\n'
HERE = [name for name in names(with_alone=True) if name != MESH]


@pytest.fixture(scope="module")
def domain(root):
    return domains.load(root / "domains" / "travel")


@pytest.fixture(scope="module")
def encoder(root):
    return embedding.load(ENCODER, root / "models")


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture
async def experiment(domain, encoder, state) -> AsyncIterator[Callable[..., Any]]:
    """Starts simulators and arms; gives both."""
    async with AsyncExitStack() as lifetimes:

        async def start(arms: list[str], scenario: str = SLOW_WEB) -> tuple[Simulation, Any]:
            simulation = await lifetimes.enter_async_context(running(scenario=read(scenario, name="test"), seed=1))
            batched = await lifetimes.enter_async_context(embedding.BatchedEncoder(encoder))
            around = Surroundings(
                anthropic=simulation.anthropic_url,
                openai=simulation.openai_url,
                web=simulation.web_url,
                vectors=simulation.vectors_url,
                mesh="",
                clock=time.monotonic,
                time_of_day=lambda: "2026-11-30T12:00:00",
            )
            knowledge = known(domain, encoder, batched, state)
            made = await lifetimes.enter_async_context(
                assembled(arms, around, knowledge, domain, queries.load(domain, count=3))
            )
            return simulation, made

        yield start


@pytest.fixture(scope="module")
def trip(domain):
    return next(each for each in queries.load(domain, count=3) if len(each.sections) == 3 and each.is_simple)


def asked(simulation: Simulation, since: int) -> list[Any]:
    """What the simulators were asked after the request of that number."""
    return [entry for entry in simulation.requests if entry.number > since]


async def test_every_arm_gives_as_many_valid_items_as_were_asked_for(experiment, domain):
    _, arms = await experiment(HERE, 'extends = "zero"')
    for query in queries.load(domain, count=3)[::6]:
        for name in HERE:
            outcome = await arms[name].answer(query)
            assert outcome.error == "", name
            assert outcome.items == (len(query.sections) if name == FLOOR else 3), name
            assert outcome.ttft <= outcome.ttf_item <= outcome.total
            assert outcome.usage.output_tokens > 0
            assert outcome.usage.cost_usd > 0


async def test_naive_asks_one_after_the_other_each_on_a_new_connection(experiment, trip):
    simulation, arms = await experiment([NAIVE])
    before = simulation.requests[-1].number
    outcome = await arms[NAIVE].answer(trip)
    calls = asked(simulation, before)
    assert [each.endpoint for each in calls] == [
        "openai.embeddings",
        "vectors.query",
        "web.tavily",
        "anthropic.messages",
    ]
    assert all(each.new_connection for each in calls)
    assert not calls[-1].stream
    assert all(one.ended <= other.began for one, other in pairwise(calls))
    assert outcome.ttf_item == pytest.approx(outcome.total, abs=0.05)


async def test_kept_connections_are_opened_before_the_first_call(experiment, trip):
    simulation, arms = await experiment(["pooling"])
    await arms["pooling"].answer(trip)
    before = simulation.requests[-1].number
    await arms["pooling"].answer(trip)
    assert [each.new_connection for each in asked(simulation, before)] == [False] * 4


async def test_a_local_search_asks_nobody(experiment, trip):
    simulation, arms = await experiment(["local"])
    before = simulation.requests[-1].number
    await arms["local"].answer(trip)
    assert [each.endpoint for each in asked(simulation, before)] == ["web.tavily", "anthropic.messages"]


async def test_a_web_search_that_takes_too_long_is_gone_without_where_it_is_limited(experiment, trip):
    _, arms = await experiment(["parallel"], 'extends = "zero"\n[web]\nlatency = 30\n')
    outcome = await arms["parallel"].answer(trip)
    assert outcome.items == 3
    assert 2.0 <= outcome.marks["web"] < 10.0


async def test_a_prompt_is_read_from_the_cache_from_the_second_time_on(experiment, trip):
    _, arms = await experiment(["compressed", "prompt_cache"])
    for name in ("compressed", "prompt_cache"):
        await arms[name].answer(trip)
    compressed, cached = [(await arms[name].answer(trip)).usage for name in ("compressed", "prompt_cache")]
    assert compressed.cache_read_tokens == 0
    assert cached.cache_read_tokens > cached.input_tokens / 2
    assert cached.cost_usd < compressed.cost_usd


async def test_divided_calls_wait_for_the_first_to_fill_the_cache_and_only_then(experiment, trip):
    scenario = 'extends = "zero"\n[tiers.large]\nfirst_token_cold = 0.4\nfirst_token_cached = 0.4\n'
    simulation, arms = await experiment(["divide"], scenario)
    for is_first in (True, False):
        before = simulation.requests[-1].number
        await arms["divide"].answer(trip)
        first, *others = [each for each in asked(simulation, before) if each.endpoint == "anthropic.messages"]
        assert len(others) == 2
        assert all((each.began >= first.first_token) is is_first for each in others)
        assert all(each.cache_read_tokens > 0 for each in others)


async def test_an_early_start_has_its_first_item_before_the_web_has_answered(experiment, trip):
    simulation, arms = await experiment(["divide", "early_start"])
    late, early = [await arms[name].answer(trip) for name in ("divide", "early_start")]
    assert late.ttf_item > late.marks["web"]
    assert early.ttf_item < early.marks["web"] < early.total
    last = [each for each in simulation.requests if each.endpoint == "anthropic.messages"][-1]
    assert last.began >= next(each.ended for each in reversed(simulation.requests) if each.endpoint == "web.tavily")


async def test_tiering_gives_simple_queries_to_the_small_model(experiment, domain):
    _, arms = await experiment(["tiering"], 'extends = "zero"')
    for query in queries.load(domain, count=3)[:12]:
        outcome = await arms["tiering"].answer(query)
        assert outcome.tiers == (("small",) if query.is_simple else ("large",))


async def test_the_floor_asks_a_model_once_for_each_section_and_nobody_else(experiment, trip):
    simulation, arms = await experiment([FLOOR])
    before = simulation.requests[-1].number
    outcome = await arms[FLOOR].answer(trip)
    calls = asked(simulation, before)
    assert [each.endpoint for each in calls] == ["anthropic.messages"] * 3
    assert not any(each.new_connection for each in calls)
    assert outcome.items == 3


@pytest.mark.timeout(240)
async def test_the_command_writes_results_under_fixed_keys_and_the_plots(root, tmp_path):
    target = tmp_path / "results" / "pipeline.json"
    arms = f"{NAIVE},{STEPS[-1]},{MESH},{FLOOR}"
    run = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bench.pipeline", "--quick", "--requests", "2", "--rate", "3", "--arms", arms, "--output", str(target)),
        cwd=root,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await asyncio.wait_for(run.communicate(), timeout=220)
    finally:
        if run.returncode is None:
            run.kill()
            await run.wait()
    assert run.returncode == 0, said.decode()
    assert "about" in said.decode().splitlines()[0]
    found = orjson.loads(target.read_bytes())
    assert set(found["arms"]) == set(arms.split(","))
    for arm in found["arms"].values():
        assert arm["n"] == 2
        for measure in ("ttft_ms", "ttf_item_ms", "total_ms", "input_tokens", "output_tokens", "cost_usd"):
            assert set(arm[measure]) == {"p50", "p95", "p99"}
    assert set(found["ratios"]) == {
        "mesh_over_floor_ttf_item_p50",
        "naive_over_mesh_ttf_item_p50",
        "naive_over_mesh_total_p50",
    }
    assert found["ratios"]["naive_over_mesh_ttf_item_p50"] > 2
    assert {"machine", "seed", "command", "date", "steps", "multiplication"} <= set(found)
    assert target.with_suffix(".svg").stat().st_size > 0
    assert target.with_suffix(".png").stat().st_size > 0
