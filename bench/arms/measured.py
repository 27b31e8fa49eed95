"""What is measured of one answer, as its caller sees it.

Decides which instants count. Refuses to know what is between the caller and the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headway.ledger import Usage

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One answer. Seconds since the request was made; `marks` say when else something had happened, by name. `error`
    is empty when the answer is whole: every item that was asked for, each valid."""

    ttft: float | None
    ttf_item: float | None
    total: float
    items: int
    usage: Usage
    tiers: tuple[str, ...] = ()
    """The model tiers that wrote the items."""
    marks: dict[str, float] = field(default_factory=dict)
    error: str = ""


class Stopwatch:
    """The instants of one answer. Of everything that happens more than once the first time counts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock()
        self.first_token: float | None = None
        self.first_item: float | None = None
        self.items = 0
        self.usage = Usage()
        self.tiers: list[str] = []
        self.marks: dict[str, float] = {}

    def elapsed(self) -> float:
        """Seconds since the request was made."""
        return self._clock() - self._began

    def mark(self, name: str) -> None:
        """Something of interest has happened."""
        self.marks.setdefault(name, self.elapsed())

    def token(self) -> None:
        """Text of a model is here."""
        if self.first_token is None:
            self.first_token = self.elapsed()

    def item(self, tier: str) -> None:
        """An item is complete and valid."""
        if self.first_item is None:
            self.first_item = self.elapsed()
        self.items += 1
        self.tiers.append(tier)

    def spend(self, usage: Usage) -> None:
        """A call has ended and says what it used."""
        self.usage = self.usage + usage

    def outcome(self, *, wanted: int, error: str = "") -> Outcome:
        """The answer has ended."""
        if not error and self.items < wanted:
            error = f"{self.items} of {wanted} items"
        return Outcome(
            ttft=self.first_token,
            ttf_item=self.first_item,
            total=self.elapsed(),
            items=self.items,
            usage=self.usage,
            tiers=tuple(dict.fromkeys(self.tiers)),
            marks=self.marks,
            error=error,
        )
