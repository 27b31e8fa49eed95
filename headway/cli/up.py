"""``headway up`` and ``headway down``: the mesh on one machine, in the foreground or behind.

Decides what a person is told and the exit codes: 0 after a stop, 69 when the mesh cannot start (it runs already, a port
is taken, the folder cannot be written), the exit code of a process that was given up.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from headway.cli.backoff import EX_UNAVAILABLE
from headway.cli.board import Board
from headway.cli.endpoints import Composition, reachable
from headway.cli.logfiles import LogFile
from headway.cli.mesh import LOGS, CannotStart, Mesh, first, on_stop_signals, started
from headway.cli.state import AlreadyRunning, MeshState, is_claimed, running
from headway.cli.supervisor import Supervisor
from headway.cli.terminal import harmless, working

EXAMPLE = "제주도 3박4일 가족여행"
SLOW = 30.0
"""Seconds after which a person is told what a starting mesh waits for, again and again."""
DETACH_WITHIN = 180.0
STOP_WITHIN = 60.0
_LOOK = 0.1


async def up(composition: Composition, folder: Path, to: Console, program: str) -> int:
    """Runs a mesh until it is told to stop. Returns the exit code."""
    board = Board(to, composition.children, str(folder / LOGS), clock=time.monotonic)
    stop, at_once = asyncio.Event(), asyncio.Event()
    to.print(Text(composition.answers_from, style="bold"))
    try:
        with on_stop_signals(stop, at_once):
            async with started(composition, folder, board, at_once=at_once) as (mesh, supervisor):
                code = await _until_stopped(mesh, supervisor, board, stop, to, program, composition)
                to.print(Text("Stopping; a second Ctrl-C ends it at once.", style="dim"))
    except (AlreadyRunning, CannotStart) as fault:
        to.print(Text(why_not(fault, program), style="red"))
        return EX_UNAVAILABLE
    to.print("Stopped.")
    return code


async def _until_stopped(
    mesh: Mesh,
    supervisor: Supervisor,
    board: Board,
    stop: asyncio.Event,
    to: Console,
    program: str,
    composition: Composition,
) -> int:
    with board.starting():
        outcome = await until_ready(supervisor, stop, board, to)
    if outcome == "ready":
        mesh.enter("ready")
        _introduce(address_of(composition), to, program)
        outcome = ("failed", "stopped")[await first(supervisor.failure(), stop.wait())]
    if outcome != "failed":
        return 0
    failure = await supervisor.failure()
    board.failed(failure)
    return failure.code if failure.code > 0 else 1


def address_of(composition: Composition) -> str:
    """Where to call the orchestrator of a mesh, or an empty string when it has none."""
    addresses = {child.role.name: reachable(child.address) for child in composition.children}
    return addresses.get("orchestrator", "")


def _introduce(address: str, to: Console, program: str) -> None:
    lines = introduction(address, program) if address else ["Ready; without an orchestrator there is nothing to ask."]
    for line in lines:
        to.print(line, soft_wrap=True)  # so that commands can be copied


async def until_ready(supervisor: Supervisor, stop: asyncio.Event, board: Board, to: Console) -> str:
    """Waits until the mesh is "ready", a process has "failed", or it was "stopped"; says what takes long."""
    outcomes = ("failed", "stopped", "ready", "slow")
    while True:
        waits = supervisor.failure(), stop.wait(), supervisor.ready(), asyncio.sleep(SLOW)
        outcome = outcomes[await first(*waits)]
        if outcome != "slow":
            return outcome
        to.print(Text("Still waiting for " + "; ".join(board.waiting_for()), style="yellow"))


def introduction(address: str, program: str) -> list[str]:
    """What to do with a mesh whose orchestrator is ready at ``address``."""
    return [
        f"Headway is ready at {address}. Ask it:",
        f'  {program} ask "{EXAMPLE}"',
        f'  grpcurl -plaintext -max-time 5 -d \'{{"query":"{EXAMPLE}"}}\' {address} '
        "headway.v1.RecommendationService/Recommend",
        f"`{program} down` stops it, from any terminal.",
    ]


def why_not(fault: Exception, program: str) -> str:
    """Why a mesh cannot start, in words."""
    if isinstance(fault, AlreadyRunning):
        state = fault.state
        where = f" at {state.orchestrator}" if state is not None and state.orchestrator else ""
        return f"A mesh is running already{where}. Use it, or stop it with `{program} down`."
    return str(fault)


def detach(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    composition: Composition,
    folder: Path,
    to: Console,
    program: str,
) -> int:
    """Starts ``headway`` with ``arguments`` behind and returns once its mesh is ready, or with its exit code."""
    if is_claimed(folder):
        to.print(Text(why_not(AlreadyRunning(running(folder)), program), style="red"))
        return EX_UNAVAILABLE
    to.print(Text(composition.answers_from, style="bold"))
    log = LogFile(folder / LOGS / "up.log")
    with log.open() as output:
        behind = subprocess.Popen(  # noqa: S603 - this program itself, no shell
            [sys.executable, "-m", "headway.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            start_new_session=True,
        )
    with working(to, "Starting the mesh"):
        state = _ready_state(behind, folder)
    if state is not None:
        _introduce(state.orchestrator, to, program)
        behind.returncode = 0  # it lives on after this process on purpose
        return 0
    code = behind.poll()
    for line in log.last(20):
        to.print(harmless(line))
    if code is None:
        behind.returncode = 0
        to.print(Text(f"It is not ready after {DETACH_WITHIN:g} s and goes on trying; see {log.path}", style="yellow"))
        return 1
    return code or 1


def _ready_state(behind: subprocess.Popen[bytes], folder: Path) -> MeshState | None:
    give_up = time.monotonic() + DETACH_WITHIN
    while behind.poll() is None and time.monotonic() < give_up:
        state = running(folder)
        if state is not None and state.pid == behind.pid and state.phase == "ready":
            return state
        time.sleep(_LOOK)
    return None


def down(folder: Path, to: Console, program: str) -> int:
    """Stops the mesh of ``folder``. 0 when none runs any more, 1 when it would not stop."""
    if not is_claimed(folder):
        to.print("No mesh is running here.")
        return 0
    state = running(folder)
    if state is None:
        to.print(Text(f"A mesh is just starting or stopping. Try `{program} down` again in a moment.", style="yellow"))
        return 1
    os.kill(state.pid, signal.SIGTERM)
    give_up = time.monotonic() + STOP_WITHIN
    with working(to, f"Stopping the mesh at {state.orchestrator or 'this machine'}"):
        while is_claimed(folder):
            if time.monotonic() > give_up:
                to.print(Text(f"It has not stopped within {STOP_WITHIN:g} s; its process is {state.pid}.", style="red"))
                return 1
            time.sleep(_LOOK)
    to.print("Stopped.")
    return 0
