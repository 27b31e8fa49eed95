"""Keeps child processes running: starts them, watches their readiness, restarts what crashed, stops them in order.

Decides the life of processes; what follows a crash is decided by ``backoff``. Knows nothing of what they do and prints
nothing: whoever watches is told through ``Watcher``.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from headway.cli.backoff import GiveUp, Rules, after_exit, ending
from headway.cli.endpoints import Child
from headway.cli.logfiles import LogFile, Remark, remarks
from headway.cli.readiness import asking
from headway.deadline import Clock

STOP_WITHIN = 15.0
"""Seconds that a child gets to drain before it is killed; longer than the default drain of a service."""
_STARTING_POLL = 0.1
_READY_POLL = 1.0
_LOG_POLL = 0.2
_MOST_REMARKS = 5
_LAST_LINES = 12


class Phase(StrEnum):
    """Where a child is in its life."""

    STARTING = "starting"
    READY = "ready"
    NOT_READY = "not ready"
    WAITING = "waiting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A child that was given up: its exit code, why, and the last lines of its log."""

    name: str
    code: int
    why: str
    lines: tuple[str, ...]


class Watcher(Protocol):
    """Is told what happens to the children, as it happens."""

    def changed(self, name: str, phase: Phase, detail: str) -> None:
        """A child entered a phase, or what keeps it there has changed."""

    def remarked(self, name: str, remark: Remark, more: int) -> None:
        """A child logged a warning or an error; ``more`` further ones of the same moment are only in its log."""

    def crashed(self, name: str, how: str, lines: Sequence[str], again_after: float) -> None:
        """A child ended by itself and will be started again after so many seconds."""


class Keeper:
    """Keeps one child running until it is stopped or given up."""

    def __init__(
        self, child: Child, log: LogFile, watcher: Watcher, *, rules: Rules, clock: Clock, draw: Callable[[], float]
    ) -> None:
        self.child = child
        self.log = log
        self.ready = asyncio.Event()
        self.pid: int | None = None
        self._watcher = watcher
        self._rules = rules
        self._clock = clock
        self._draw = draw
        self._phase = Phase.STOPPED
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def name(self) -> str:
        return self.child.role.name

    async def run(self) -> Failure | None:
        """Returns when the child was stopped (None) or given up."""
        try:
            return await self._lives()
        finally:
            self._ended.set()

    async def stop(self, within: float = STOP_WITHIN) -> None:
        """Tells the child to end, and kills it when it has not after ``within`` seconds."""
        self._stopping.set()
        if self._ended.is_set():
            return
        self._enter(Phase.STOPPING)
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
        try:
            async with asyncio.timeout(within):
                await self._ended.wait()
        except TimeoutError:
            self.kill()
            await self._ended.wait()

    def kill(self) -> None:
        """Ends the child at once."""
        self._stopping.set()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def note_remarks(self, found: Sequence[Remark]) -> None:
        """Passes on what the child logged; why it is not ready yet belongs to its phase, not among the warnings."""
        unready = self._phase in (Phase.STARTING, Phase.NOT_READY)
        waits = [remark for remark in found if unready and remark.event == "not ready"]
        others = [remark for remark in found if remark not in waits]
        if waits:
            self._enter(self._phase, waits[-1].missing or waits[-1].text)
        for remark in others[:_MOST_REMARKS]:
            last = remark is others[:_MOST_REMARKS][-1]
            self._watcher.remarked(self.name, remark, max(0, len(others) - _MOST_REMARKS) if last else 0)

    async def _lives(self) -> Failure | None:
        early = 0
        while not self._stopping.is_set():
            self._enter(Phase.STARTING)
            began, written = self._clock(), self.log.size()
            code = await self._one_life()
            if self._stopping.is_set():
                break
            verdict = after_exit(
                code=code, ran=self._clock() - began, early=early, draw=self._draw(), rules=self._rules
            )
            lines = self.log.last(_LAST_LINES, since=written)
            if isinstance(verdict, GiveUp):
                self._enter(Phase.FAILED, verdict.why)
                return Failure(name=self.name, code=code, why=f"{ending(code)}; {verdict.why}", lines=tuple(lines))
            early = verdict.early
            self._enter(Phase.WAITING, f"{ending(code)}, starts again in {verdict.after:.1f} s")
            self._watcher.crashed(self.name, ending(code), lines, verdict.after)
            await self._wait(verdict.after)
        self._enter(Phase.STOPPED)
        return None

    async def _one_life(self) -> int:
        """Starts the child and returns its exit code once it has ended."""
        with self.log.open() as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "headway.cli.tether",
                self.child.role.module,
                *self.child.arguments,
                stdin=asyncio.subprocess.PIPE,  # the line that ties it to this process
                stdout=output,
                stderr=output,
                env=dict(self.child.environment),
                start_new_session=True,  # a Ctrl-C in the terminal reaches this process alone, which stops it in order
            )
        self._process, self.pid = process, process.pid
        if self._stopping.is_set():
            process.terminate()
        watching = asyncio.create_task(self._watch(), name=f"readiness of {self.name}")
        try:
            return await process.wait()
        finally:
            watching.cancel()
            self.ready.clear()
            self.pid = None
            if process.returncode is None:
                process.kill()
                await process.wait()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self) -> None:
        async with asking(self.child.address, self.child.role.health) as check:
            while not self._stopping.is_set():
                missing = await check()
                if not missing:
                    self.ready.set()
                    self._enter(Phase.READY)
                elif self.ready.is_set():
                    self.ready.clear()
                    self._enter(Phase.NOT_READY, missing)
                await asyncio.sleep(_READY_POLL if self.ready.is_set() else _STARTING_POLL)

    def _enter(self, phase: Phase, detail: str = "") -> None:
        if self._stopping.is_set() and phase not in (Phase.STOPPING, Phase.STOPPED):
            return
        if phase is not self._phase or detail:
            self._phase = phase
            self._watcher.changed(self.name, phase, detail)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return


class Supervisor:
    """Several children. Made by ``supervising``."""

    def __init__(self, keepers: Sequence[Keeper]) -> None:
        self.keepers = tuple(keepers)
        self._failure: asyncio.Future[Failure] = asyncio.get_running_loop().create_future()

    async def ready(self) -> None:
        """Returns once every child is ready."""
        for keeper in self.keepers:
            await keeper.ready.wait()

    async def failure(self) -> Failure:
        """Returns once a child was given up."""
        return await asyncio.shield(self._failure)

    def pids(self) -> dict[str, int]:
        """Process ids of the children that run, by name."""
        return {keeper.name: keeper.pid for keeper in self.keepers if keeper.pid is not None}

    def kill(self) -> None:
        """Ends all children at once."""
        for keeper in self.keepers:
            keeper.kill()

    async def stop(self) -> None:
        """Stops the children layer by layer, callers before those they call, so that what runs can finish."""
        for layer in sorted({keeper.child.role.layer for keeper in self.keepers}, reverse=True):
            await asyncio.gather(*(each.stop() for each in self.keepers if each.child.role.layer == layer))

    async def kill_when(self, at_once: asyncio.Event) -> None:
        """Ends all children as soon as the event is set."""
        await at_once.wait()
        self.kill()

    async def keep(self, keeper: Keeper) -> None:
        failure = await keeper.run()
        if failure is not None and not self._failure.done():
            self._failure.set_result(failure)

    async def follow_logs(self) -> None:
        """Passes on the warnings in the children's logs until cancelled."""
        while True:
            await asyncio.sleep(_LOG_POLL)
            for keeper in self.keepers:
                keeper.note_remarks(remarks(keeper.log.new_lines()))


@asynccontextmanager
async def supervising(
    children: Sequence[Child],
    logs: Path,
    watcher: Watcher,
    *,
    at_once: asyncio.Event,
    rules: Rules | None = None,
    clock: Clock = time.monotonic,
    draw: Callable[[], float] = random.random,
) -> AsyncIterator[Supervisor]:
    """Runs ``children`` until the block is left, then stops them; ``at_once`` kills them. Their output goes to
    ``logs/NAME.log``.
    """
    keepers = [
        Keeper(child, LogFile(logs / f"{child.role.name}.log"), watcher, rules=rules or Rules(), clock=clock, draw=draw)
        for child in children
    ]
    supervisor = Supervisor(keepers)
    async with asyncio.TaskGroup() as tasks:
        beside = [
            tasks.create_task(supervisor.follow_logs(), name="logs of children"),
            tasks.create_task(supervisor.kill_when(at_once), name="end of children"),
        ]
        for keeper in keepers:
            tasks.create_task(supervisor.keep(keeper), name=f"keeper of {keeper.name}")
        try:
            yield supervisor
        finally:
            try:
                await supervisor.stop()
            finally:
                supervisor.kill()
                for task in beside:
                    task.cancel()
