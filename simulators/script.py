"""Decides in which order and at what times a response's bytes go out: a script of steps, made as values and then
played.

Faults are edits of a script (`simulators.faults`); this module knows neither them nor the providers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum


class Act(Enum):
    """What a step does besides writing."""

    NONE = 0
    FLUSH = 1
    """Whatever was written goes out before the next step, in a packet of its own as far as the network allows."""
    RESET = 2
    """The connection is reset."""
    CLOSE = 3
    """The connection is closed without the end of the response."""


@dataclass(frozen=True, slots=True)
class Step:
    """Wait, then write. The waits add up from one instant, so being late at one step does not delay the next."""

    wait: float
    data: bytes
    tokens: int = 0
    """Output tokens that the bytes carry."""
    act: Act = Act.NONE


class Broken(Exception):  # noqa: N818 - an outcome of a script, not a mistake of ours
    """The script says that the connection ends here."""

    def __init__(self, act: Act) -> None:
        super().__init__(act.name)
        self.act = act


async def sleep_until(instant: float) -> None:
    """Sleep until an instant of the loop's clock; not at all when it has passed."""
    left = instant - asyncio.get_running_loop().time()
    if left > 0:
        await asyncio.sleep(left)


async def play(
    steps: Iterable[Step], *, start: float, write: Callable[[bytes], Awaitable[None]], billed: Callable[[int], None]
) -> None:
    """Write each step's bytes when they are due, counted from `start` on the loop's clock; steps that are due
    together go out
    together. `billed` hears of the tokens as they become due, written or not. Raises `Broken` where the script says
    so."""
    clock = asyncio.get_running_loop().time
    due, waiting = start, bytearray()
    for step in steps:
        if step.wait:
            due += step.wait
            left = due - clock()
            if left > 0:
                if waiting:
                    await write(bytes(waiting))
                    waiting.clear()
                await asyncio.sleep(due - clock())
        if step.tokens:
            billed(step.tokens)
        waiting += step.data
        if step.act is not Act.NONE:
            if waiting:
                await write(bytes(waiting))
                waiting.clear()
            if step.act is not Act.FLUSH:
                raise Broken(step.act)
    if waiting:
        await write(bytes(waiting))
