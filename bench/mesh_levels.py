"""Measures the arms at one number of requests in flight, in blocks that take turns, so that whatever changes on the
machine meanwhile meets all arms alike.

Closed loop: as many callers as requests in flight, each asks again when it has its answer. Right for what a request
costs and how many a second are possible; the wrong way to learn what users wait (``headway bench`` is for that).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

from bench.mesh_samples import Sample, Samples
from bench.processes import Running

Arm = Callable[[int], Awaitable[Sample]]
"""Makes the request of that number; the same number is the same query for every arm."""
MESH = "mesh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """So many in flight; ``blocks`` of ``block`` requests for each arm, after one block that is not kept."""

    name: str
    in_flight: int
    block: int
    blocks: int

    @property
    def requests(self) -> int:
        """Requests of one arm."""
        return self.block * (self.blocks + 1)


@dataclass(slots=True, kw_only=True)
class Measured:
    """A level: samples by arm, and the processor time in seconds by process while the mesh was asked."""

    level: Level
    samples: dict[str, Samples] = field(default_factory=dict)
    cpu: Counter[str] = field(default_factory=Counter)


async def measured(level: Level, arms: Mapping[str, Arm], running: Running, advance: Callable[[int], None]) -> Measured:
    """Runs a level. ``advance`` is told how many requests were made. Raises what the arms raise."""
    result = Measured(level=level, samples={name: Samples() for name in arms})
    names = list(arms)
    for turn in range(level.blocks + 1):
        # Each arm comes first as often as any other.
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            before, began = _used(running), time.perf_counter()
            samples = await _block(level, arms[name], first=turn * level.block)
            took, after = time.perf_counter() - began, _used(running)
            advance(level.block)
            if not turn:
                continue
            kept = result.samples[name]
            # The first ones of a block start all at once, which no later ones do.
            kept.kept.extend(samples[level.in_flight :] if level.in_flight > 1 else samples)
            kept.made += level.block
            kept.seconds += took
            if name == MESH:
                result.cpu.update({process: after[process] - before[process] for process in after})
    return result


async def _block(level: Level, arm: Arm, *, first: int) -> list[Sample]:
    samples: list[Sample] = []
    numbers = iter(range(first, first + level.block))
    async with asyncio.TaskGroup() as callers:
        for _ in range(level.in_flight):
            callers.create_task(_caller(arm, numbers, samples))
    return samples


async def _caller(arm: Arm, numbers: Iterator[int], samples: list[Sample]) -> None:
    for number in numbers:
        samples.append(await arm(number))  # noqa: PERF401 - the callers share the numbers


def _used(running: Running) -> dict[str, float]:
    services = {name: each.cpu_seconds for name, each in running.used().items()}
    return services | {"simulators": running.upstream.used().cpu_seconds, "caller": time.process_time()}
