"""A mesh of child processes on this machine: one at a time per state folder, published while it runs.

Decides what must hold before anything is started and what others can read of a running mesh. Prints nothing.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from headway.cli.endpoints import Composition, reachable, taken
from headway.cli.logfiles import Remark
from headway.cli.state import Claim, MeshState, claimed
from headway.cli.supervisor import Phase, Supervisor, Watcher, supervising

LOGS = "log"
"""Folder of the logs within the state folder."""


class CannotStart(Exception):  # noqa: N818 - named for what is the case
    """Something that a mesh needs cannot be had; one line of the message for each, saying what to do."""


class Mesh:
    """A mesh that was started; ``supervisor`` is set as soon as its processes are."""

    def __init__(self, composition: Composition, claim: Claim, watcher: Watcher) -> None:
        self.supervisor: Supervisor | None = None
        self._composition = composition
        self._claim = claim
        self._watcher = watcher
        self._phase = "starting"

    def enter(self, phase: str) -> None:
        """Publishes that the mesh is "starting", "ready" or "stopping"."""
        self._phase = phase
        try:
            self._claim.publish(self._state())
        except OSError as fault:
            # The mesh itself does not need the file; those who look for it should know.
            text = f"the state of the mesh cannot be written: {fault}"
            self._watcher.remarked("up", Remark(level="warning", event="", text=text), 0)

    def _state(self) -> MeshState:
        addresses = {child.role.name: reachable(child.address) for child in self._composition.children}
        return MeshState(
            pid=os.getpid(),
            phase=self._phase,
            orchestrator=addresses.get("orchestrator", ""),
            simulated=self._composition.simulated,
            addresses=addresses,
            pids=self.supervisor.pids() if self.supervisor else {},
        )

    def changed(self, name: str, phase: Phase, detail: str) -> None:
        if phase in (Phase.READY, Phase.STARTING):
            self.enter(self._phase)
        self._watcher.changed(name, phase, detail)

    def remarked(self, name: str, remark: Remark, more: int) -> None:
        self._watcher.remarked(name, remark, more)

    def crashed(self, name: str, how: str, lines: Sequence[str], again_after: float) -> None:
        self._watcher.crashed(name, how, lines, again_after)


@asynccontextmanager
async def started(
    composition: Composition, folder: Path, watcher: Watcher, *, at_once: asyncio.Event
) -> AsyncIterator[tuple[Mesh, Supervisor]]:
    """Runs the processes of ``composition`` until the block is left, then stops them in order; ``at_once`` kills them.

    Raises AlreadyRunning, and CannotStart when ``folder`` cannot be written or a port is taken.
    """
    _make_writable(folder)
    with claimed(folder) as claim:
        if faults := taken(composition.children):
            raise CannotStart("\n".join(faults))
        mesh = Mesh(composition, claim, watcher)
        mesh.enter("starting")
        async with supervising(composition.children, folder / LOGS, mesh, at_once=at_once) as supervisor:
            mesh.supervisor = supervisor
            try:
                yield mesh, supervisor
            finally:
                mesh.enter("stopping")


def _make_writable(folder: Path) -> None:
    try:
        (folder / LOGS).mkdir(parents=True, exist_ok=True)
        (folder / LOGS / "up.log").touch()
    except OSError as fault:
        raise CannotStart(
            f"The folder for logs and state cannot be written: {fault}. Name another with HEADWAY_STATE."
        ) from fault


async def first(*waits: Awaitable[object]) -> int:
    """Waits for the first of several; returns its position and cancels the others. Raises what that one raises."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = [task.done() for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    position = ended.index(True)
    tasks[position].result()
    return position


@contextmanager
def on_stop_signals(stop: asyncio.Event, at_once: asyncio.Event) -> Iterator[None]:
    """Sets ``stop`` at the first SIGINT, SIGTERM or SIGHUP and ``at_once`` at the next one."""
    loop = asyncio.get_running_loop()
    # Under nohup a hang-up is ignored, and should stay so.
    numbers = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    ]

    def on_signal() -> None:
        (at_once if stop.is_set() else stop).set()

    for number in numbers:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
