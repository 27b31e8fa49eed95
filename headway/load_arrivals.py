"""When calls of a load run are due: at random, evenly, in bursts, or as a file recorded it.

Decides the instants, as rising seconds from the start. All but ``trace`` go on without end. Randomness is passed in, so
that the same seed repeats a run. Sends nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from math import isfinite
from pathlib import Path
from random import Random

BURST = 10
"""Calls in one burst."""
MOST_TRACED = 5_000_000
_TIME_COLUMNS = ("timestamp", "time", "arrival", "arrived_at", "start_timestamp")


class TraceError(ValueError):
    """A file that is no trace; the message says which line and why."""


def poisson(rate: float, rng: Random) -> Iterator[float]:
    """Independent arrivals, ``rate`` a second on average: gaps are exponential with mean 1/rate."""
    _check(rate)
    at = 0.0
    while True:
        at += rng.expovariate(rate)
        yield at


def constant(rate: float) -> Iterator[float]:
    """Arrivals 1/rate seconds apart, the first at once."""
    _check(rate)
    for number in count():
        yield number / rate


def bursts(rate: float, rng: Random, *, size: int = BURST) -> Iterator[float]:
    """``size`` arrivals at the same instant, then a pause; ``rate`` a second on average. Pauses are exponential."""
    _check(rate)
    at = 0.0
    while True:
        at += rng.expovariate(rate / size)
        for _ in range(size):
            yield at


def trace(instants: Sequence[float], *, rate: float | None = None) -> Iterator[float]:
    """Replays rising ``instants`` (two or more, of which the first is 0) once. With a ``rate`` all gaps are stretched
    alike, so that it is the mean.
    """
    factor = 1.0
    if rate is not None:
        _check(rate)
        factor = (len(instants) - 1) / (instants[-1] * rate)
    for instant in instants:
        yield instant * factor


def read_trace(path: Path) -> list[float]:
    """Instants of a CSV file with a header, in seconds from the first, rising.

    The column is named timestamp, time or arrival, in any case; failing that it is the first. It holds seconds, or
    dates with times as ISO 8601 has them (without a zone: UTC). Raises TraceError and OSError.
    """
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        rows = csv.reader(file)
        header = [name.strip().lower() for name in next(rows, [])]
        column = next((header.index(name) for name in _TIME_COLUMNS if name in header), 0)
        instants: list[float] = []
        try:
            for row in rows:
                if row:
                    instants.append(_instant(row, column, path, rows.line_num))
                if len(instants) > MOST_TRACED:
                    raise TraceError(f"{path} holds more than {MOST_TRACED} arrivals")
        except csv.Error as fault:
            raise TraceError(f"{path} is no CSV file: line {rows.line_num}: {fault}") from fault
    instants.sort()
    if len(instants) < 2 or instants[0] == instants[-1]:
        raise TraceError(f"{path} holds no two arrivals at different times")
    return [instant - instants[0] for instant in instants]


def _instant(row: Sequence[str], column: int, path: Path, line: int) -> float:
    text = row[column].strip() if column < len(row) else ""
    try:
        seconds = float(text)
    except ValueError:
        seconds = _of_date(text, path, line)
    if not isfinite(seconds):
        raise TraceError(f"{path} line {line}: {text!r} is no time")
    return seconds


def _of_date(text: str, path: Path, line: int) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as fault:
        raise TraceError(f"{path} line {line}: {text!r} is neither seconds nor a date with a time") from fault
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _check(rate: float) -> None:
    if not (isfinite(rate) and rate > 0):
        raise ValueError("the rate must be above zero")
