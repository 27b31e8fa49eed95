"""What a request may spend, and how that is divided.

Decides allowances. Knows no stage by name, no service and no clock: spans in seconds come in, spans go out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Tier(IntEnum):
    """Quality class of the rung that writes items; the numbers are those of ``headway.v1.Tier``."""

    UNSPECIFIED = 0
    EXTRACTIVE = 1
    SMALL = 2
    LARGE = 3


class Criticality(IntEnum):
    """How much a request matters when there is too much to do; numbers of ``headway.v1.Criticality``."""

    UNSPECIFIED = 0
    SHEDDABLE = 1
    DEFAULT = 2
    CRITICAL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What travels with a request beside its deadline.

    ``first_item_within`` and ``reserve`` are seconds; None means that the sender left the choice to the receiver.
    """

    first_item_within: float | None = None
    reserve: float | None = None
    criticality: Criticality = Criticality.DEFAULT
    floor_tier: Tier = Tier.UNSPECIFIED
    ceiling_tier: Tier = Tier.UNSPECIFIED
    attempt: int = 1
    hedge: bool = False
    request_id: str = ""
    tenant: str = ""

    def allows(self, tier: Tier) -> bool:
        """True when the caller accepts items of this tier."""
        below = self.floor_tier is not Tier.UNSPECIFIED and tier < self.floor_tier
        above = self.ceiling_tier is not Tier.UNSPECIFIED and tier > self.ceiling_tier
        return not below and not above


def allowance(*, remaining: float, reserve: float, later_floor_costs: Iterable[float], cap: float) -> float:
    """Seconds one stage may take, never negative.

    ``min(cap, remaining - reserve - sum(later_floor_costs))``, where a floor cost is the estimated p95 of the cheapest
    rung of a later stage and the reserve covers writing and flushing what is already there. Whatever is handed out,
    the later stages can still run on their cheapest rung and the reserve stays free.
    """
    return max(0.0, min(cap, remaining - reserve - sum(later_floor_costs)))


def effective_reserve(configured: float, remaining: float) -> float:
    """Seconds to keep free before the deadline: the configured reserve, but never more than a fifth of what remains.

    A short deadline would otherwise be eaten by a reserve meant for long ones.
    """
    return min(configured, max(0.0, remaining) / 5)
