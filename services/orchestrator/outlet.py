"""What goes in and comes out of an answer, as values.

Decides nothing; the seam between the flow of a request and the messages that a caller sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headway.ledger import Degraded, Finish, Stage, Usage
from services.orchestrator.account import PlannedStage
from services.orchestrator.neighbours import Item, Routed


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What the caller asked."""

    text: str
    locale: str
    max_items: int
    sections: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanValue:
    """What the plan message says."""

    routed: Routed
    language: str
    sections: tuple[str, ...]
    stages: tuple[PlannedStage, ...]
    max_items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryValue:
    """What the summary message says; spans are seconds since the arrival of the request. ``own`` are the stages of the
    ledger that only this service can tell its watchers of.
    """

    finish: Finish
    items: int
    ttft: float | None
    ttf_item: float | None
    total: float
    usage: Usage
    ledger: tuple[Stage, ...]
    own: tuple[Stage, ...] = ()


class Outlet(Protocol):
    """Where events go; each call returns once the event is handed to the transport."""

    async def plan(self, plan: PlanValue) -> None:
        """The first event."""
        ...

    async def item(self, item: Item) -> None:
        """One complete item."""
        ...

    async def notice(self, degraded: Degraded) -> None:
        """A degradation as it happens."""
        ...

    async def summary(self, summary: SummaryValue) -> None:
        """The last event."""
        ...
