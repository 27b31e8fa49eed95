"""``headway ask`` against a scripted mesh: what is printed, and the exit code of every way to end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from headway import request as scope
from headway.cli.ask import Question, ask
from headway.errors import HeadwayError, Reason
from headway.server import Hosted, always_ready
from headway.testing import PATIENCE, hosting
from headway.v1 import generator_pb2, item_pb2, recommendation_pb2, recommendation_pb2_grpc, router_pb2_grpc

NAME = "headway.v1.RecommendationService"
Script = Callable[[recommendation_pb2.RecommendRequest, Any], Awaitable[None]]
Event = recommendation_pb2.RecommendResponse

PLAN = Event(plan=recommendation_pb2.Plan(request_id="r", intent="travel_recommendation", sections=["food"]))
ITEM = Event(
    item=item_pb2.Item(item_id="1", section="food", rank=1, title="올래국수", sources=["a"], tier=item_pb2.TIER_SMALL)
)
SUMMARY = Event(summary=recommendation_pb2.Summary(items=1, finish_reason=generator_pb2.FINISH_REASON_COMPLETE))


class ScriptedMesh(recommendation_pb2_grpc.RecommendationServiceServicer):
    """Does what the test says, and keeps what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[recommendation_pb2.RecommendRequest] = []
        self.had_deadline: list[bool] = []
        self.left = asyncio.Event()

    async def Recommend(self, request: recommendation_pb2.RecommendRequest, context: Any) -> None:  # type: ignore[override]
        self.asked.append(request)
        self.had_deadline.append(scope.current().source is scope.DeadlineSource.CALLER)
        try:
            await self.script(request, context)
        except asyncio.CancelledError:
            self.left.set()
            raise


@asynccontextmanager
async def mesh(script: Script) -> AsyncIterator[tuple[str, ScriptedMesh]]:
    servicer = ScriptedMesh(script)
    hosted = Hosted(
        name=NAME,
        register=lambda server: recommendation_pb2_grpc.add_RecommendationServiceServicer_to_server(servicer, server),
        check=always_ready,
    )
    async with hosting(hosted) as target:
        yield target, servicer


async def answers(_request: recommendation_pb2.RecommendRequest, context: Any) -> None:
    for event in (PLAN, ITEM, SUMMARY):
        await context.write(event)


async def answers_and_hangs(_request: recommendation_pb2.RecommendRequest, context: Any) -> None:
    await context.write(PLAN)
    await context.write(ITEM)
    await asyncio.Event().wait()


async def plans_and_hangs(_request: recommendation_pb2.RecommendRequest, context: Any) -> None:
    await context.write(PLAN)
    await asyncio.Event().wait()


def fails(error: HeadwayError) -> Script:
    async def script(_request: recommendation_pb2.RecommendRequest, _context: Any) -> None:
        raise error

    return script


@dataclass
class Ran:
    code: int
    out: str
    err: str


@asynccontextmanager
async def started(folder: Path, *arguments: str, **more: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """``headway ask`` as a process, killed if the test leaves it behind."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        "-m",
        "headway.cli",
        "ask",
        *arguments,
        stdout=more.pop("stdout", asyncio.subprocess.PIPE),
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ) | {"HEADWAY_STATE": str(folder)} | more,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def headway_ask(folder: Path, *arguments: str, **environment: str) -> Ran:
    async with started(folder, *arguments, **environment) as process, asyncio.timeout(30 * PATIENCE):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(code=process.returncode, out=out.decode(), err=err.decode())


async def test_an_answer_is_printed_and_ends_with_zero(tmp_path: Path) -> None:
    async with mesh(answers) as (target, _servicer):
        ran = await headway_ask(tmp_path, "제주도 3박4일", "--target", target, "--deadline", "5s")
    assert (ran.code, ran.err) == (0, "")
    assert "올래국수" in ran.out
    assert "1 item, complete" in ran.out


async def test_json_puts_nothing_but_one_object_a_line_on_standard_output(tmp_path: Path) -> None:
    async with mesh(answers) as (target, _servicer):
        ran = await headway_ask(tmp_path, "x", "--target", target, "--json", PYTHONIOENCODING="latin-1")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [next(iter(line)) for line in lines] == ["plan", "item", "summary"]
    assert lines[1]["item"]["title"] == "올래국수"
    assert (ran.code, ran.err) == (0, "")


async def test_every_option_travels_with_the_request(tmp_path: Path) -> None:
    async with mesh(answers) as (target, servicer):
        ran = await headway_ask(
            tmp_path,
            *("x", "--target", target, "--lang", "ko", "--max-items", "4", "--section", "food", "--section", "sights"),
            *("--first-item-within", "800ms", "--max-tier", "small", "--deadline", "3s"),
        )
    assert ran.code == 0, ran.err
    (asked,) = servicer.asked
    assert (asked.query, asked.locale, asked.max_items, list(asked.sections)) == ("x", "ko", 4, ["food", "sights"])
    assert asked.first_item_within.ToMilliseconds() == 800
    assert asked.max_tier == item_pb2.TIER_SMALL
    assert servicer.had_deadline == [True]


async def test_what_is_not_said_stays_unset() -> None:
    async with mesh(answers) as (target, servicer):
        ended = await ask(Question(query="x"), target, lambda _event, _after: None)
    assert (ended.items, ended.complete, ended.problem) == (1, True, None)
    assert servicer.asked == [recommendation_pb2.RecommendRequest(query="x")]
    assert servicer.had_deadline == [False]


async def test_without_a_mesh_it_says_how_to_start_one(tmp_path: Path) -> None:
    ran = await headway_ask(tmp_path, "x", "--target", "127.0.0.1:1")
    assert ran.code == 69
    assert ran.err == "No mesh answers at 127.0.0.1:1. Start one with `headway up`, or name another with --target.\n"
    assert ran.out == ""


async def test_a_refused_request_names_the_options_at_fault(tmp_path: Path) -> None:
    async with mesh(answers) as (target, servicer):
        ran = await headway_ask(tmp_path, " ", "--target", target, "--max-items", "0", "--lang", "?!")
    assert ran.code == 1
    assert "query must hold more than white space" in ran.err
    assert "--max-items must be" in ran.err
    assert "--lang must be a BCP 47" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert servicer.asked == []


async def test_a_deadline_without_items_ends_with_124(tmp_path: Path) -> None:
    async with mesh(plans_and_hangs) as (target, _servicer):
        ran = await headway_ask(tmp_path, "x", "--target", target, "--deadline", "150ms")
    assert ran.code == 124
    assert ran.err == "Nothing could be made within 0.15 s. Give more time with --deadline.\n"


async def test_a_deadline_after_items_is_a_failed_call_that_keeps_them(tmp_path: Path) -> None:
    async with mesh(answers_and_hangs) as (target, _servicer):
        ran = await headway_ask(tmp_path, "x", "--target", target, "--deadline", "400ms")
    assert ran.code == 1
    assert "올래국수" in ran.out
    assert "broke off after 1 item" in ran.err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (HeadwayError(Reason.OVERLOADED, "too much to do", retry_after=1.5), "Try again in 1.5 s."),
        (HeadwayError(Reason.NOT_READY, "the index is not loaded"), "`headway doctor` says what is missing."),
        (HeadwayError(Reason.NOTHING_FOUND, "nothing matched"), "nothing matched"),
    ],
)
async def test_an_error_of_the_mesh_is_one_sentence_and_what_to_do(
    tmp_path: Path, error: HeadwayError, said: str
) -> None:
    async with mesh(fails(error)) as (target, _servicer):
        ran = await headway_ask(tmp_path, "x", "--target", target)
    assert ran.code == 1
    assert error.message in ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err


async def test_another_service_at_the_target_is_told_apart(tmp_path: Path) -> None:
    hosted = Hosted(
        name="headway.v1.RouterService",
        register=lambda server: router_pb2_grpc.add_RouterServiceServicer_to_server(
            router_pb2_grpc.RouterServiceServicer(),  # type: ignore[abstract]  # it is never called
            server,
        ),
        check=always_ready,
    )
    async with hosting(hosted) as target:
        ran = await headway_ask(tmp_path, "x", "--target", target)
    assert ran.code == 1
    assert "is no orchestrator" in ran.err


@asynccontextmanager
async def bare_server(behaviour: Callable[[bytes, Any], Awaitable[None]]) -> AsyncIterator[str]:
    """A server without anything of ours, whose statuses are its own."""
    server = grpc.aio.server()
    method: Any = grpc.unary_stream_rpc_method_handler(behaviour)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(NAME, {"Recommend": method}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (grpc.StatusCode.UNAVAILABLE, "The connection was lost"),
        (grpc.StatusCode.CANCELLED, "cancelled the call"),
        (grpc.StatusCode.INTERNAL, "The call failed (INTERNAL): gone"),
    ],
)
async def test_an_answer_that_breaks_off_is_a_failed_call_and_not_a_missing_mesh(
    code: grpc.StatusCode, said: str
) -> None:
    async def vanish(_request: bytes, context: Any) -> None:
        await context.write(PLAN.SerializeToString())
        await context.abort(code, "gone")

    async with bare_server(vanish) as target:
        ended = await ask(Question(query="x"), target, lambda _event, _after: None)
    assert ended.problem is not None
    assert ended.problem.code == 1
    assert said in ended.problem.message


@pytest.mark.parametrize(
    "wrong", [("--deadline", "5"), ("--deadline", "0s"), ("--target", "x"), ("--max-tier", "huge")]
)
async def test_what_cannot_be_meant_is_a_usage_error(tmp_path: Path, wrong: tuple[str, str]) -> None:
    ran = await headway_ask(tmp_path, "x", *wrong)
    assert ran.code == 2
    assert wrong[0] in ran.err
    assert ran.out == ""


async def test_a_query_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    ran = await headway_ask(tmp_path, os.fsdecode(b"\xff\xfe"), "--target", "127.0.0.1:1")
    assert ran.code == 2
    assert "not valid UTF-8" in ran.err


async def test_an_interrupt_ends_quietly_and_cancels_the_call(tmp_path: Path) -> None:
    async with mesh(answers_and_hangs) as (target, servicer):
        async with started(tmp_path, "x", "--target", target, "--json") as process, asyncio.timeout(30 * PATIENCE):
            assert process.stdout is not None
            assert process.stderr is not None
            await process.stdout.readline()
            await process.stdout.readline()
            process.send_signal(signal.SIGINT)
            code = await process.wait()
            said = await process.stderr.read()
            await servicer.left.wait()
    assert (code, said) == (130, b"")


@pytest.mark.parametrize("form", [(), ("--json",)])
async def test_a_closed_pipe_ends_quietly_and_cancels_the_call(tmp_path: Path, form: tuple[str, ...]) -> None:
    go_on = asyncio.Event()

    async def endless(_request: recommendation_pb2.RecommendRequest, context: Any) -> None:
        await context.write(PLAN)
        await go_on.wait()
        while True:
            await context.write(ITEM)
            await asyncio.sleep(0.01)

    reading, writing = os.pipe()
    async with mesh(endless) as (target, servicer):
        async with started(tmp_path, "x", "--target", target, *form, stdout=writing) as process:
            os.close(writing)
            assert process.stderr is not None
            async with asyncio.timeout(30 * PATIENCE):
                await asyncio.to_thread(os.read, reading, 1)
                os.close(reading)
                go_on.set()
                code = await process.wait()
                said = await process.stderr.read()
                await servicer.left.wait()
    assert (code, said) == (130, b"")


async def test_an_event_is_shown_before_the_next_one_is_made() -> None:
    shown = asyncio.Event()

    async def waits_for_the_reader(_request: recommendation_pb2.RecommendRequest, context: Any) -> None:
        await context.write(PLAN)
        await shown.wait()
        await context.write(SUMMARY)

    kinds = []

    def show(event: Event, _after: float) -> None:
        kinds.append(event.WhichOneof("event"))
        shown.set()

    async with mesh(waits_for_the_reader) as (target, _servicer), asyncio.timeout(10 * PATIENCE):
        ended = await ask(Question(query="x"), target, show)
    assert (kinds, ended.complete) == (["plan", "summary"], True)
