"""What has happened to one request so far: items sent, stages spent, why it ends.

Keeps the account that the plan and the summary are made from. Decides only how single endings add up to one; sends
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from headway.ledger import Degradation, Degraded, Finish, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    """The rung that a stage starts on."""

    stage: str
    rung: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Account:
    """Mutable, owned by the one task group of its request. Spans are seconds since the arrival of the request."""

    items: int = 0
    first_item: float | None = None
    first_token: float | None = None
    planned: list[PlannedStage] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    own: list[Stage] = field(default_factory=list)
    endings: list[Finish] = field(default_factory=list)
    used_sources: set[str] = field(default_factory=set)
    ranks: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def sent_item(self, section: str, rank: int, sources: Iterable[str], *, at: float) -> None:
        """Counts an item that goes out ``at`` seconds after the request came in."""
        self.items += 1
        self.ranks[section].add(rank)
        self.used_sources.update(sources)
        if self.first_item is None:
            self.first_item = at

    def saw_token(self, at: float) -> None:
        """Notes the first token of some model; the earliest counts."""
        if self.first_token is None or at < self.first_token:
            self.first_token = at

    def add_own(self, stage: Stage) -> None:
        """Adds a stage that no neighbour has told its own watchers of: none ran it, or the one that did broke off."""
        self.stages.append(stage)
        self.own.append(stage)

    def add_stages(self, stages: Iterable[Stage], *, offset: float) -> None:
        """Adds the stages of a neighbour, whose own clock started ``offset`` seconds after the request came in."""
        for stage in stages:
            self.stages.append(replace(stage, started_after=stage.started_after + offset))

    def finish(self, *, wanted: int) -> Finish:
        """One ending for the whole answer: time before upstreams before the number of items."""
        for reason in (Finish.DEADLINE, Finish.UPSTREAM_EXHAUSTED):
            if reason in self.endings:
                return reason
        return Finish.MAX_ITEMS if self.items >= wanted else Finish.COMPLETE

    def ledger(self) -> tuple[Stage, ...]:
        """The stages in the order in which they began."""
        return tuple(sorted(self.stages, key=lambda stage: stage.started_after))


def not_a_recommendation(intent: str, text: str) -> Degraded:
    """The notice for a query that asks for something else."""
    detail = text or f"The query was taken for {intent}, for which nothing is recommended."
    return Degraded(stage="router", reason=Degradation.NOT_A_RECOMMENDATION, detail=detail)


def unsupported_language(language: str, answered_in: str) -> Degraded:
    """The notice for a query in a language that the embedding model was not made for."""
    detail = (
        f"The query seems to be in {language!r}, which this deployment was not made for; answering in {answered_in!r}."
    )
    return Degraded(stage="router", reason=Degradation.UNSUPPORTED_LANGUAGE, detail=detail)
