"""``headway top`` over real metrics endpoints: on a terminal of 80 columns, and printed once."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web
from textual.widgets import Static

from headway.cli.failures import OK, UNREACHABLE
from headway.cli.state import MeshState
from headway.cli.terminal import console
from headway.cli.top import once
from headway.cli.top_app import TopApp
from headway.cli.top_fetch import Looker, addresses, looking
from headway.cli.top_view import ANSWERS, Watch
from headway.ledger import Attempt, Degradation, Degraded, Stage
from headway.metrics import Metrics, exposed
from headway.testing import eventually

SERVICES = ("generator", "orchestrator")
Mesh = tuple[dict[str, str], dict[str, Metrics]]


@asynccontextmanager
async def serving() -> AsyncIterator[Mesh]:
    """Addresses and metrics of two services that have worked a little."""
    metrics = {name: Metrics() for name in SERVICES}
    async with AsyncExitStack() as lifetimes:
        at = {}
        for name, each in metrics.items():
            port = await lifetimes.enter_async_context(exposed(each, "127.0.0.1", 0))
            at[name] = f"127.0.0.1:{port}"
        work(metrics)
        yield at, metrics


def work(metrics: dict[str, Metrics]) -> None:
    metrics["generator"].stages([Stage(name="router", spent=0.01)])
    attempt = Attempt(backend="anthropic", model="m1", outcome="overloaded", spent=0.2)
    metrics["generator"].stages([Stage(name="generator.음식점", spent=0.4, attempts=(attempt,))])
    metrics["generator"].degraded(Degraded(stage="retrieval.web", reason=Degradation.OUT_OF_TIME, detail=""))
    metrics["orchestrator"].ended(ANSWERS, code="OK", spent=1.0, left=0.3, hedge=False)


def picture(app: TopApp) -> str:
    """The text on the screen, row by row."""
    return "\n".join(str(app.query_one("#picture", Static).render()).splitlines())


def nobody() -> str:
    """An address at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


async def test_one_look_is_printed_as_plain_text_that_fits() -> None:
    to = io.StringIO()
    async with serving() as (at, _):
        assert await once(at, console(to, width=80)) == OK
    text = to.getvalue()
    assert "2 of 2 services" in text
    for told in ("router ", "generator.음식점", "failed: 1 overloaded", "out of time", "in time 100 %"):
        assert told in text
    assert "\x1b" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


async def test_a_service_that_is_gone_is_named_and_the_others_are_shown() -> None:
    to = io.StringIO()
    async with serving() as (at, _):
        at["generator"] = nobody()
        assert await once(at, console(to, width=80)) == OK
    assert f"generator cannot be reached: nothing answers at {at['generator']}" in to.getvalue()
    assert "1 of 2 services" in to.getvalue()


async def test_where_no_service_answers_it_says_what_to_do() -> None:
    to = io.StringIO()
    assert await once({"router": nobody()}, console(to, width=80)) == UNREACHABLE
    assert "headway up" in to.getvalue()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b"no", "answers with status 404"),
        (200, b"<html>hello</html>", "gives no metrics of Headway"),
        (200, b"headway_x many", "gives no metrics (ValueError)"),
        (200, b"\xff\xfe", "gives no metrics (UnicodeDecodeError)"),
    ],
)
async def test_what_is_no_service_of_the_mesh_is_told_apart(status: int, body: bytes, said: str) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status, body=body)

    app = web.Application()
    app.router.add_get("/metrics", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        async with looking({"router": f"{host}:{port}"}) as looker:
            found = await looker.look()
    finally:
        await runner.cleanup()
    assert isinstance(found["router"], str)
    assert said in found["router"]


def test_addresses_are_those_of_the_mesh_that_runs_else_those_of_the_settings() -> None:
    listens = dict.fromkeys(("router", "retrieval", "generator", "orchestrator"), "0.0.0.0:50051")
    assert addresses(None, listens, 100)["router"] == "127.0.0.1:50151"
    state = MeshState(pid=1, phase="ready", orchestrator="", simulated=True, addresses={"router": "127.0.0.1:7000"})
    found = addresses(state, listens, 100)
    assert (found["router"], found["generator"]) == ("127.0.0.1:7100", "127.0.0.1:50151")


@asynccontextmanager
async def on_a_terminal(looker: Looker, *, columns: int = 80, rows: int = 24) -> AsyncIterator[tuple[TopApp, object]]:
    app = TopApp(looker.look, Watch(SERVICES), interval=0.05, clock=time.monotonic)
    async with app.run_test(size=(columns, rows)) as pilot:
        await eventually(lambda: "2 of 2 services" in picture(app), what="a look at both services")
        yield app, pilot


async def test_the_picture_follows_the_services_on_80_columns_and_24_rows() -> None:
    async with serving() as (at, metrics), looking(at) as looker, on_a_terminal(looker) as (app, _pilot):
        assert app.size == (80, 24)
        work(metrics)
        await eventually(lambda: "generator.음식점" in picture(app), what="the new stage")
        await eventually(lambda: "failed: 1 overloaded" in picture(app), what="the new attempt")
        screen = app.export_screenshot(simplify=True)
        assert "quit" in screen
        assert "pause" in screen
        assert app.query_one("#picture", Static).size.height <= 23


async def test_a_service_that_stops_is_named_at_the_next_look() -> None:
    async with AsyncExitStack() as lifetimes:
        at, _ = await lifetimes.enter_async_context(serving())
        async with looking(at) as looker, on_a_terminal(looker) as (app, _pilot):
            await lifetimes.aclose()
            await eventually(lambda: "0 of 2 services" in picture(app), what="the loss is told")
            assert f"orchestrator cannot be reached: nothing answers at {at['orchestrator']}" in picture(app)


async def test_p_pauses_and_goes_on() -> None:
    async with serving() as (at, metrics), looking(at) as looker, on_a_terminal(looker) as (app, pilot):
        await pilot.press("p")
        assert "(paused)" in picture(app)
        before = picture(app)
        work(metrics)
        await pilot.pause(0.3)
        assert picture(app) == before
        await pilot.press("p")
        await eventually(lambda: "generator.음식점" in picture(app), what="the picture goes on")


async def test_plus_and_minus_change_how_often_it_looks_within_bounds() -> None:
    async with serving() as (at, _), looking(at) as looker, on_a_terminal(looker) as (app, pilot):
        seen = []
        for key in ["minus"] * 8 + ["plus"] * 8:
            await pilot.press(key)
            seen.append(picture(app).split("a look every ")[1].split(" s")[0])
        assert seen[:7] == ["0.5", "1", "2", "5", "10", "30", "30"]
        assert seen[-1] == "0.25"


async def test_w_takes_another_span_and_q_leaves() -> None:
    async with serving() as (at, _), looking(at) as looker, on_a_terminal(looker) as (app, pilot):
        await pilot.press("w", "q")
        await pilot.pause()
        assert app.return_code == 0


async def test_a_terminal_that_changes_its_size_is_filled_again() -> None:
    async with serving() as (at, metrics), looking(at) as looker, on_a_terminal(looker, rows=6) as (app, pilot):
        work(metrics)
        await pilot.resize_terminal(120, 40)
        await eventually(lambda: "given up" in picture(app), what="what had no room before")
