"""Latencies of one arm and their quantiles. Values only; measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One request as its caller saw it: seconds to the first complete item and to the end, and the items it got."""

    first_item: float
    total: float
    items: int


@dataclass(slots=True)
class Samples:
    """All requests of an arm at one level, and how long the blocks took that they were made in."""

    kept: list[Sample] = field(default_factory=list)
    made: int = 0
    """With those at the beginning of each block, which are not kept."""
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        """Requests a second over all blocks, their beginnings and ends included."""
        return self.made / self.seconds

    def first_item_ms(self) -> dict[str, float]:
        """Quantiles of the time to the first item."""
        return quantiles_ms([each.first_item for each in self.kept])

    def total_ms(self) -> dict[str, float]:
        """Quantiles of the time to the end."""
        return quantiles_ms([each.total for each in self.kept])

    def items_per_request(self) -> float:
        """Items that a request got on average."""
        return round(sum(each.items for each in self.kept) / len(self.kept), 2)


def quantiles_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Quantiles in milliseconds of one sample or more, linear between neighbours."""
    found = np.quantile(np.asarray(seconds), list(QUANTILES.values())) * 1000
    return {name: round(float(value), 3) for name, value in zip(QUANTILES, found, strict=True)}


def difference(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """Quantile by quantile; the maximum, which is one sample, is left out."""
    return {name: round(one[name] - other[name], 3) for name in QUANTILES if name != "max"}
