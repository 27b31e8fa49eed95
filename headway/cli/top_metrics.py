"""Metrics as services expose them, and what happened between two looks at them.

Decides how counters become numbers of a span of time and buckets become quantiles. Knows no service and fetches
nothing.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import inf, isfinite, nan

PREFIX = "headway_"
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}

Values = Mapping[str, float]
"""By series as it is written, for example ``headway_items_total{section="food",tier="small"}``."""


def parsed(text: str) -> dict[str, float]:
    """The series of Headway in the text that Prometheus reads. Raises ValueError when it is something else."""
    values = {}
    for line in text.splitlines():
        if line.startswith(PREFIX):
            series, _, value = line.rpartition(" ")
            values[series] = float(value)
    return values


@lru_cache(maxsize=8192)
def read(series: str) -> tuple[str, Mapping[str, str]]:
    """Name and labels of a series."""
    name, _, rest = series.partition("{")
    return name, {found[1]: _unescaped(found[2]) for found in _LABEL.finditer(rest)}


def _unescaped(value: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), value) if "\\" in value else value


def matching(values: Values, name: str, **labels: str) -> Iterator[tuple[Mapping[str, str], float]]:
    """Labels and value of each series of that name that has those labels."""
    for series, value in values.items():
        # Most series are of other names; the comparison spares reading them.
        if series.startswith(name):
            found, carried = read(series)
            if found == name and labels.items() <= carried.items():
                yield carried, value


def total(values: Values, name: str, **labels: str) -> float:
    """The sum over all series of that name that have those labels."""
    return sum(value for _, value in matching(values, name, **labels))


def by_label(values: Values, name: str, label: str, **labels: str) -> dict[str, float]:
    """Sums by one label, without those that are zero."""
    sums: dict[str, float] = {}
    for carried, value in matching(values, name, **labels):
        if value:
            sums[carried[label]] = sums.get(carried[label], 0.0) + value
    return sums


def buckets(values: Values, name: str, **labels: str) -> dict[float, float]:
    """Cumulative counts of a histogram by upper bound, over all its series that have those labels."""
    counts: dict[float, float] = {}
    for carried, value in matching(values, f"{name}_bucket", **labels):
        bound = float(carried["le"])
        counts[bound] = counts.get(bound, 0.0) + value
    return counts


def quantile(counts: Mapping[float, float], share: float) -> float:
    """The value below which ``share`` of the observations lie, evenly spread within a bucket; nan without any.

    As Prometheus' ``histogram_quantile``: what lies above the last finite bound counts as that bound.
    """
    bounds = sorted(counts)
    if not bounds or counts[bounds[-1]] <= 0:
        return nan
    rank = share * counts[bounds[-1]]
    low, below = 0.0, 0.0
    for bound in bounds:
        if counts[bound] >= rank and counts[bound] > below:
            return low if not isfinite(bound) else low + (bound - low) * (rank - below) / (counts[bound] - below)
        low, below = bound, counts[bound]
    return low


def increase(before: Values, now: Values) -> dict[str, float]:
    """What counters gained. A counter that is smaller than before belongs to a process that has started again."""
    gained = {}
    for series, value in now.items():
        earlier = before.get(series, 0.0)
        if value != earlier:
            gained[series] = value - earlier if value > earlier else value
    return gained


class History:
    """The latest looks at one service, over ``longest`` seconds."""

    def __init__(self, *, longest: float) -> None:
        self._longest = longest
        self._looks: deque[tuple[float, Values]] = deque()

    def add(self, at: float, values: Values) -> None:
        """Takes a look made at that instant of some clock."""
        self._looks.append((at, values))
        # The look at the far end is kept until the next one is old enough to take its place.
        while len(self._looks) > 2 and self._looks[1][0] <= at - self._longest:
            self._looks.popleft()

    def latest(self) -> Values:
        """The newest values, nothing before the first look."""
        return self._looks[-1][1] if self._looks else {}

    def gained(self, window: float = inf) -> tuple[float, dict[str, float]]:
        """The seconds between the newest look and the one ``window`` before it, and what counters gained meanwhile."""
        if len(self._looks) < 2:
            return 0.0, {}
        now, values = self._looks[-1]
        since, before = next((look for look in self._looks if look[0] >= now - window), self._looks[0])
        return now - since, increase(before, values)

    def last_step(self) -> dict[str, float]:
        """What counters gained between the last two looks."""
        return increase(self._looks[-2][1], self._looks[-1][1]) if len(self._looks) > 1 else {}
