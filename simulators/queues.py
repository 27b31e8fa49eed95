"""Decides how long a call waits for its turn: a tier has so many slots, and others' calls take some of them.

The real tail of latency is queueing, which no distribution of service times shows. Refuses to know what a call does
in its slot.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

from simulators.scenario import Background, Scenario

MOST_WAITING = 1_000
"""Others' calls that wait at once; more are turned away, so that an overloaded tier does not fill the memory."""


class Queues:
    """The slots of every tier."""

    def __init__(self, scenario: Scenario) -> None:
        self._slots = {name: asyncio.Semaphore(tier.slots) for name, tier in scenario.tiers if tier.slots}
        self._in_flight = dict.fromkeys((name for name, _ in scenario.tiers), 0)

    @asynccontextmanager
    async def slot(self, tier: str) -> AsyncIterator[int]:
        """Wait for a slot and hold it; yields how many other calls are in flight. First come, first served."""
        async with AsyncExitStack() as stack:
            if tier in self._slots:
                await stack.enter_async_context(self._slots[tier])
            others = self._in_flight[tier]
            self._in_flight[tier] += 1
            try:
                yield others
            finally:
                self._in_flight[tier] -= 1


@asynccontextmanager
async def background(scenario: Scenario, queues: Queues, *, seed: int) -> AsyncIterator[None]:
    """The calls of others, for as long as the context is open."""
    sources = [
        asyncio.create_task(_others(name, tier.background, queues, Random(f"{seed} {name}")))
        for name, tier in scenario.tiers
        if tier.background
    ]
    try:
        yield
    finally:
        for source in sources:
            source.cancel()
        await asyncio.gather(*sources, return_exceptions=True)


async def _others(tier: str, calls: Background, queues: Queues, rng: Random) -> None:
    loop = asyncio.get_running_loop()
    due = loop.time()
    async with asyncio.TaskGroup() as group:
        waiting: set[asyncio.Task[None]] = set()
        for gap in calls.arrivals.gaps(rng):
            due += gap
            await asyncio.sleep(max(0.0, due - loop.time()))
            if len(waiting) < MOST_WAITING:
                task = group.create_task(_hold(tier, calls.holds.draw(rng), queues))
                waiting.add(task)
                task.add_done_callback(waiting.discard)


async def _hold(tier: str, seconds: float, queues: Queues) -> None:
    async with queues.slot(tier):
        await asyncio.sleep(seconds)
