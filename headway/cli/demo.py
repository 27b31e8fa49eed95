"""``headway demo``: two questions to a mesh, one that runs or one of its own, and where their time went."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from headway.cli.ask import Question, ask
from headway.cli.backoff import EX_UNAVAILABLE
from headway.cli.board import Board
from headway.cli.endpoints import Composition
from headway.cli.failures import INTERRUPTED
from headway.cli.mesh import LOGS, CannotStart, first, on_stop_signals, started
from headway.cli.render import Prose
from headway.cli.state import AlreadyRunning, running
from headway.cli.up import EXAMPLE, address_of, until_ready, why_not

QUESTIONS = (EXAMPLE, "3-day Tokyo trip with kids")
DEADLINE = 5.0
READY_WITHIN = 180.0


async def demo(composition: Composition, folder: Path, to: Console, program: str) -> int:
    """Asks the questions. Returns 0 when each answer had items; whatever was started is stopped again."""
    stop, at_once = asyncio.Event(), asyncio.Event()
    with on_stop_signals(stop, at_once):
        if state := running(folder):
            if state.phase != "ready" or not state.orchestrator:
                to.print(Text("A mesh is running here that is not ready for questions; try again later.", style="red"))
                return EX_UNAVAILABLE
            to.print(f"Using the mesh that runs at {state.orchestrator}.")
            return await _unless_stopped(state.orchestrator, stop, to)
        try:
            return await _with_own_mesh(composition, folder, stop, at_once, to)
        except (AlreadyRunning, CannotStart) as fault:
            to.print(Text(why_not(fault, program), style="red"))
            return EX_UNAVAILABLE


async def _with_own_mesh(
    composition: Composition, folder: Path, stop: asyncio.Event, at_once: asyncio.Event, to: Console
) -> int:
    board = Board(to, composition.children, str(folder / LOGS), clock=time.monotonic)
    to.print(Text(composition.answers_from, style="bold"))
    async with started(composition, folder, board, at_once=at_once) as (mesh, supervisor):
        try:
            async with asyncio.timeout(READY_WITHIN):
                with board.starting():
                    outcome = await until_ready(supervisor, stop, board, to)
        except TimeoutError:
            to.print(Text(f"The mesh was not ready within {READY_WITHIN:g} s.", style="red"))
            return 1
        if outcome == "stopped":
            return INTERRUPTED
        if outcome == "failed":
            board.failed(await supervisor.failure())
            return 1
        mesh.enter("ready")
        code = await _unless_stopped(address_of(composition), stop, to)
        to.print(Text("Stopping the mesh.", style="dim"))
        return code


async def _unless_stopped(target: str, stop: asyncio.Event, to: Console) -> int:
    asking = asyncio.ensure_future(_ask_all(target, to))
    if await first(asking, stop.wait()) == 1:
        return INTERRUPTED
    return asking.result()


async def _ask_all(target: str, to: Console) -> int:
    empty = []
    for query in QUESTIONS:
        to.print(Rule(Text(f"{query}   (deadline {DEADLINE:g} s)"), align="left"))
        ended = await ask(Question(query=query, deadline=DEADLINE), target, Prose(to))
        if ended.problem is not None:
            to.print(Text(ended.problem.message, style="red"))
        if not ended.items or ended.problem is not None:
            empty.append(query)
    for query in empty:
        to.print(Text(f"No complete answer to: {query}", style="red"))
    return 1 if empty else 0
