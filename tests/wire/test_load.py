"""Load on a real RecommendationService on loopback: what is measured of it, and the ``headway bench`` command."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headway.errors import HeadwayError, Reason
from headway.load import Plan, generate
from headway.load_arrivals import constant
from headway.load_calls import RecommendCalls, built_in, shuffled
from headway.load_report import report
from headway.server import Hosted, always_ready
from headway.testing import PATIENCE, eventually, hosting, plain_channel
from headway.v1 import generator_pb2, item_pb2, ledger_pb2, recommendation_pb2, recommendation_pb2_grpc

Event = recommendation_pb2.RecommendResponse
Recommend = Callable[[recommendation_pb2.RecommendRequest, Any], Awaitable[None]]


class Scripted(recommendation_pb2_grpc.RecommendationServiceServicer):
    """Answers as the test says, and keeps the queries."""

    def __init__(self, script: Recommend) -> None:
        self.script = script
        self.queries: list[str] = []

    async def Recommend(self, request: recommendation_pb2.RecommendRequest, context: Any) -> None:
        self.queries.append(request.query)
        await self.script(request, context)


@asynccontextmanager
async def serving(script: Recommend) -> AsyncIterator[tuple[str, Scripted]]:
    servicer = Scripted(script)
    hosted = Hosted(
        name="headway.v1.RecommendationService",
        register=lambda server: recommendation_pb2_grpc.add_RecommendationServiceServicer_to_server(servicer, server),
        check=always_ready,
    )
    async with hosting(hosted) as target:
        yield target, servicer


async def answers(_request: Any, context: Any) -> None:
    await context.write(Event(plan=recommendation_pb2.Plan()))
    await context.write(
        Event(
            notice=ledger_pb2.Notice(
                stage="retrieval.web", reason=ledger_pb2.DEGRADATION_REASON_OUT_OF_TIME, detail="too slow"
            )
        )
    )
    for tier in (item_pb2.TIER_SMALL, item_pb2.TIER_EXTRACTIVE):
        await context.write(Event(item=item_pb2.Item(title="a place", tier=tier)))
    await context.write(
        Event(summary=recommendation_pb2.Summary(finish_reason=generator_pb2.FINISH_REASON_MAX_ITEMS, items=2))
    )


async def refuses(_request: Any, _context: Any) -> None:
    raise HeadwayError(Reason.OVERLOADED, "too much to do", retry_after=1.0)


async def hangs(_request: Any, context: Any) -> None:
    await context.write(Event(plan=recommendation_pb2.Plan()))
    await asyncio.Event().wait()


async def ends_early(_request: Any, context: Any) -> None:
    await context.write(Event(item=item_pb2.Item(title="a place", tier=item_pb2.TIER_SMALL)))


async def one_answer(script: Recommend, *, deadline: float = 5.0) -> Any:
    async with serving(script) as (target, _), plain_channel(target) as channel:
        return await RecommendCalls(channel, iter(built_in()), deadline=deadline)(0)


async def test_what_counts_of_an_answer_is_kept() -> None:
    before = time.monotonic()
    answer = await one_answer(answers)
    assert before < answer.first_item_at < time.monotonic()
    assert (answer.items, answer.finish, answer.error) == (2, "max_items", "")
    assert answer.tiers == {"small": 1, "extractive": 1}
    assert answer.degradations == {"retrieval.web: out_of_time": 1}


async def test_a_failure_is_named_by_the_reason_that_the_mesh_gives() -> None:
    answer = await one_answer(refuses)
    assert (answer.error, answer.items, answer.first_item_at) == ("OVERLOADED", 0, None)


async def test_a_failure_of_grpc_itself_is_named_by_its_code() -> None:
    answer = await one_answer(hangs, deadline=0.2)
    assert answer.error == "DEADLINE_EXCEEDED"


async def test_a_stream_without_a_summary_is_a_failure_that_had_items() -> None:
    answer = await one_answer(ends_early)
    assert (answer.error, answer.items) == ("NO_SUMMARY", 1)


async def test_a_call_that_is_given_up_is_cancelled_at_the_other_side() -> None:
    left = asyncio.Event()

    async def hangs_until_left(request: Any, context: Any) -> None:
        try:
            await hangs(request, context)
        finally:
            left.set()

    async with serving(hangs_until_left) as (target, servicer), plain_channel(target) as channel:
        calls = RecommendCalls(channel, iter(built_in()), deadline=30.0)
        asking = asyncio.create_task(calls(0))
        async with asyncio.timeout(5 * PATIENCE):
            await eventually(lambda: bool(servicer.queries), what="the call")
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await left.wait()


async def test_a_run_asks_all_queries_and_counts_its_calls() -> None:
    async with serving(answers) as (target, servicer), plain_channel(target) as channel:
        calls = RecommendCalls(channel, shuffled(built_in(), Random(1)), deadline=5.0)
        recording = await generate(calls, constant(100.0), Plan(most=48, late_limit=60.0))
    assert len(servicer.queries) == 48
    assert set(servicer.queries) == {request.query for request in built_in()}
    figures = report(recording)
    assert (figures.n, figures.failed_share, figures.items_per_call) == (48, 0.0, 2.0)


async def bench(*arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "headway.cli",
        "bench",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30 * PATIENCE):
        out, said = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), " ".join(said.decode().split())


# A machine that is busy with other tests may send late; what is asserted here does not depend on it.
SHORT = ("--rate", "32", "--duration", "1s", "--warmup", "250ms", "--late-limit", "20s")


async def test_the_command_reports_a_mesh_that_answers(tmp_path: Path) -> None:
    figures, histograms = tmp_path / "figures.json", tmp_path / "run.hlog"
    async with serving(answers) as (target, _):
        code, out, said = await bench(
            "--target", target, *SHORT, "--arrivals", "constant", "--json", str(figures), "--hdr", str(histograms)
        )
    assert code == 0, said
    assert "whole answer" in out
    written = json.loads(figures.read_text(encoding="utf-8"))
    assert (written["n"], written["rate_sent"], written["target"]) == (32, 32.0, target)
    assert written["first_item_ms"]["n"] == 32
    assert histograms.read_text(encoding="ascii").startswith("#[Histogram log format version 1.2]")


async def test_figures_on_standard_output_are_json_and_nothing_else() -> None:
    async with serving(answers) as (target, _):
        code, out, _said = await bench("--target", target, *SHORT, "--json", "-")
    assert code == 0
    assert json.loads(out)["failed_share"] == 0.0


async def test_the_command_fails_when_more_calls_fail_than_may() -> None:
    async with serving(refuses) as (target, _):
        code, out, said = await bench("--target", target, *SHORT)
        lenient, *_ = await bench("--target", target, *SHORT, "--max-failed", "1")
    assert code == 1
    assert "failed: OVERLOADED" in out
    assert "calls failed; 1.0% may" in said
    assert lenient == 0


async def test_the_command_shows_no_figures_when_it_could_not_keep_the_rate(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    async with serving(hangs) as (target, _):
        code, out, said = await bench("--target", target, *SHORT, "--max-in-flight", "3", "--json", str(figures))
    assert (code, out) == (3, "")
    assert "3 calls were in flight" in said
    assert "Nothing is reported" in said
    assert not figures.exists()


async def test_the_command_says_that_nobody_is_there() -> None:
    code, _, said = await bench("--target", "127.0.0.1:1", *SHORT)
    assert code == 69
    assert "No mesh answers at 127.0.0.1:1" in said


async def test_a_trace_is_replayed(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("TIMESTAMP\n" + "".join(f"2024-01-01 00:00:00.{n:02}0\n" for n in range(0, 60, 5)))
    async with serving(answers) as (target, servicer):
        code, _, said = await bench(
            "--target", target, "--arrivals", f"trace:{trace}", "--warmup", "0s", "--late-limit", "20s"
        )
    assert code == 0, said
    assert len(servicer.queries) == 12


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--rate", "0"], "above zero"),
        (["--rate", "nan"], "above zero"),
        (["--rate", "2000"], "needs --yes"),
        (["--duration", "61m"], "needs --yes"),
        (["--duration", "0s"], "longer than zero"),
        (["--duration", "10"], "write a span with its unit"),
        (["--arrivals", "sometimes"], "poisson, constant, burst or trace:FILE"),
        (["--arrivals", "trace:/nowhere.csv"], "nowhere.csv"),
        (["--queries", "/nowhere.txt"], "nowhere.txt"),
        (["--json", "/nowhere/figures.json"], "cannot be written"),
        (["--max-failed", "2"], "from 0 to 1"),
        (["--max-in-flight", "0"], "max-in-flight"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anything_is_sent(arguments: list[str], complaint: str) -> None:
    async with serving(answers) as (target, servicer):
        code, _, said = await bench("--target", target, *arguments)
    assert code == 2
    assert complaint in said
    assert servicer.queries == []
