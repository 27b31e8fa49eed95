"""Decides how long things take, as values to draw from; refuses to know what is being timed and never sleeps.

A latency is written in a scenario as a number (constant), as `{p50, p95}` (log-normal) or as `{file, column,
scale}` (empirical).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

Z95 = 1.6448536269514722
"""The standard normal distribution's 95th percentile."""


class Latency(Protocol):
    """Something a duration can be drawn from."""

    def draw(self, rng: Random) -> float:
        """One duration in seconds, at least 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """Always the same."""

    seconds: float

    def draw(self, rng: Random) -> float:
        """The constant; takes nothing from `rng`."""
        return self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal:
    """Log-normal, given by its median and its 95th percentile: ln X ~ N(ln p50, (ln p95 - ln p50) / z95)."""

    p50: float
    p95: float

    def draw(self, rng: Random) -> float:
        """One duration; half of them are under `p50`, one in twenty over `p95`."""
        return self.p50 * math.exp(math.log(self.p95 / self.p50) / Z95 * rng.gauss(0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Empirical:
    """What was once measured, drawn by the inverse of its distribution with straight lines between the samples."""

    samples: tuple[float, ...]
    """Sorted, in seconds, at least one."""

    def draw(self, rng: Random) -> float:
        """One duration between the smallest and the largest sample."""
        place = rng.random() * (len(self.samples) - 1)
        below = int(place)
        above = min(below + 1, len(self.samples) - 1)
        return self.samples[below] + (self.samples[above] - self.samples[below]) * (place - below)


NOTHING = Constant(seconds=0.0)


def parse(value: object, *, folder: Path) -> Latency:
    """The latency that `value` writes; `ValueError` says what is wrong with it. Files are looked for from
    `folder`."""
    if isinstance(value, bool) or not isinstance(value, int | float | Mapping):
        raise ValueError("must be seconds, {p50, p95} or {file}")
    if not isinstance(value, Mapping):
        return Constant(seconds=_seconds(value))
    keys = set(value)
    if keys == {"p50", "p95"}:
        return _log_normal(value)
    if "file" in keys and keys <= {"file", "column", "scale"}:
        return _from_file(value, folder)
    raise ValueError(f"must have the keys p50 and p95, or file (with column and scale), not {sorted(map(str, keys))}")


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"must be a number of seconds from 0 up, not {value!r}")
    return float(value)


def _log_normal(value: Mapping[str, object]) -> Latency:
    p50, p95 = _seconds(value["p50"]), _seconds(value["p95"])
    if p50 == 0 or p95 < p50:
        raise ValueError(f"needs 0 < p50 <= p95, not {p50} and {p95}")
    return LogNormal(p50=p50, p95=p95)


def _from_file(value: Mapping[str, object], folder: Path) -> Latency:
    path = folder / str(value["file"])
    scale = _seconds(value.get("scale", 1.0))
    try:
        with path.open(newline="", encoding="utf-8") as file:
            samples = _column(file.read().splitlines(), value.get("column"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    if not samples or min(samples) < 0:
        raise ValueError(f"{path} must hold at least one number, none below 0")
    return Empirical(samples=tuple(sorted(sample * scale for sample in samples)))


def _column(lines: list[str], column: object) -> list[float]:
    try:
        if column is None:
            return [float(line) for line in lines if line.strip()]
        return [float(row[str(column)]) for row in csv.DictReader(lines)]
    except KeyError as error:
        raise ValueError(f"has no column {error}") from error
