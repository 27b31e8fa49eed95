"""Parts for tests of the mesh and of what calls it: a clock that stands still, real servers on loopback, waiting.

Everything here joins real clients to real servers over loopback, so that tests meet framing, metadata and status.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import grpc

from headway.channel import connected
from headway.server import Hosted, SharedConfig, listening

PATIENCE = float(os.environ.get("HEADWAY_TEST_PATIENCE", "1"))
"""Factor for every waiting time in tests; raise it on a slow machine."""


class ManualClock:
    """A monotonic clock that moves only when told."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Lets that many seconds pass."""
        assert seconds >= 0, "a monotonic clock never goes back"
        self.now += seconds


@asynccontextmanager
async def hosting(*hosted: Hosted, shared: SharedConfig | None = None) -> AsyncIterator[str]:
    """Serves on a loopback port chosen by the system; yields ``127.0.0.1:port``. Drains within a second."""
    settings = shared or SharedConfig(drain_notice=0.0, drain_grace=1.0)
    async with listening("127.0.0.1:0", hosted, settings) as address:
        yield address


@asynccontextmanager
async def channel(target: str, service: str = "") -> AsyncIterator[grpc.aio.Channel]:
    """A channel as the services use it between themselves."""
    async with connected(target, service) as open_channel:
        yield open_channel


@asynccontextmanager
async def plain_channel(target: str) -> AsyncIterator[grpc.aio.Channel]:
    """A channel without anything of ours, as any caller has it."""
    async with grpc.aio.insecure_channel(target) as open_channel:
        yield open_channel


async def eventually(
    condition: Callable[[], bool | Awaitable[bool]], *, within: float = 5.0, what: str = "the condition"
) -> None:
    """Waits until ``condition`` holds. AssertionError after ``within`` seconds times patience."""
    give_up = time.monotonic() + within * PATIENCE
    while True:
        answer = condition()
        if await answer if isinstance(answer, Awaitable) else answer:
            return
        if time.monotonic() >= give_up:
            raise AssertionError(f"{what} did not come true within {within * PATIENCE:g} s")
        await asyncio.sleep(0.01)


async def task_names(ignore: Sequence[str] = ()) -> list[str]:
    """Names of the tasks that run now, beside the present one; to see that nothing was left behind."""
    own = asyncio.current_task()
    return sorted(task.get_name() for task in asyncio.all_tasks() if task is not own and task.get_name() not in ignore)
