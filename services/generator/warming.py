"""Keeps providers warm: connections opened at start, and again in the background after a provider could not be reached.

Decides when it is tried again: soon, then ever later, until the provider is back. Nothing waits for it, and what it
does belongs to no request. Knows a provider only as something that can be warmed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

import structlog

from headway.request import detached

WARM_SECONDS = 3.0
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0

log = structlog.get_logger()


class Warmable(Protocol):
    """What can be made ready."""

    async def warm(self, connections: int, within: float) -> str:
        """Opens that many connections within so many seconds; an empty string, or what went wrong."""


class Warming:
    """The providers by name, each with at most one task that tries to reach it."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        providers: Mapping[str, Warmable],
        *,
        connections: int,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._tasks = tasks
        self._providers = providers
        self._connections = connections
        self._draw = draw
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def begin(self) -> None:
        """Warms all of them once; those that cannot be reached now are tried again in the background."""
        faults = await asyncio.gather(*map(self._warm, self._providers))
        for name, fault in zip(self._providers, faults, strict=True):
            if fault:
                self.lost(name)

    def lost(self, name: str) -> None:
        """A provider could not be reached. Returns at once; calls while it is being tried change nothing."""
        if name not in self._under_way:
            task = detached(self._tasks, self._again(name), name=f"warming.{name}")
            self._under_way[name] = task
            task.add_done_callback(lambda _: self._under_way.pop(name, None))

    def stop(self) -> None:
        """Gives up what is under way."""
        for task in list(self._under_way.values()):
            task.cancel()

    async def _again(self, name: str) -> None:
        pause = FIRST_PAUSE
        while True:
            await asyncio.sleep(pause * (1.0 - self._draw() / 2))
            if not await self._warm(name):
                return
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _warm(self, name: str) -> str:
        fault = await self._providers[name].warm(self._connections, WARM_SECONDS)
        if fault:
            log.warning("provider cannot be reached", provider=name, why=fault)
        else:
            log.info("provider ready", provider=name)
        return fault


@asynccontextmanager
async def warmed(providers: Mapping[str, Warmable], *, connections: int) -> AsyncIterator[Warming]:
    """The providers, warmed as far as they can be reached; what goes on in the background ends with the block."""
    try:
        async with asyncio.TaskGroup() as tasks:
            warming = Warming(tasks, providers, connections=connections)
            await warming.begin()
            try:
                yield warming
            finally:
                warming.stop()
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from None  # the block's own fault, as if no group were around it
        raise
