"""Decides when calls arrive: as a Poisson process, in bursts, or as they once did. Refuses to know what arrives.

Used for the calls of others that take a tier's slots, and by whoever puts load on a mesh.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Protocol


class Arrivals(Protocol):
    """A pattern of arrivals."""

    def gaps(self, rng: Random) -> Iterator[float]:
        """Seconds from each arrival to the next, without end unless the pattern has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisson:
    """Independent arrivals, `rate` a second on average: exponential gaps."""

    rate: float

    def gaps(self, rng: Random) -> Iterator[float]:
        """Endless."""
        while True:
            yield rng.expovariate(self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bursts:
    """`size` arrivals at once, the bursts a Poisson process; still `rate` a second on average."""

    rate: float
    size: int

    def gaps(self, rng: Random) -> Iterator[float]:
        """Endless."""
        while True:
            yield rng.expovariate(self.rate / self.size)
            yield from (0.0 for _ in range(self.size - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What once happened, with its own gaps."""

    recorded: tuple[float, ...]

    def gaps(self, rng: Random) -> Iterator[float]:
        """As many as were recorded; takes nothing from `rng`."""
        return iter(self.recorded)


def replayed(path: Path, *, column: str, speed: float = 1.0) -> Replay:
    """The arrivals in a CSV file's column of seconds or of ISO 8601 instants, `speed` times as fast.

    `ValueError` when the file cannot be read or is not such a file.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            instants = sorted(_instant(row[column]) for row in csv.DictReader(file))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    except KeyError as error:
        raise ValueError(f"{path} has no column {column!r}") from error
    if len(instants) < 2:
        raise ValueError(f"{path} must hold at least two arrivals")
    return Replay(recorded=tuple((later - earlier) / speed for earlier, later in pairwise(instants)))


def _instant(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()
