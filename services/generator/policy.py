"""What the generator decides: which rung writes, with how many tokens, how long it waits, when it stops.

Pure: spans in seconds and counts come in, a choice goes out. Knows no provider, no clock and no message; a rung is
a name, a tier and a pace. Simple on purpose: the paces are priors, and a learned policy may take its place behind
the same functions.

Choosing. ``fits`` = floor((time left - TTFT p50) / TPOT p50) tokens. The cheapest rung that writes is taken when at
least one item fits, a dearer one only when everything that is wanted fits, its TTFT p95 and one item are within the
wish for a first item, and the query is not simple. ``max_tokens`` = min(fits, what the items need in the language).
So less time never yields a dearer rung, nor more tokens: whenever a dearer rung is taken it gets all the tokens any
rung could get. Below one item, the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import floor, inf

from headway.budget import Budget, Tier

HEADROOM = 1.4
"""Items vary; the limit leaves room so that the last one is not cut off."""
ENVELOPE_TOKENS = 16
"""What stands around the items, and the least that providers accept as a limit."""
FLOOR_COST = 0.005
"""Seconds the floor is given to write what is missing."""
STALL_SECONDS = 0.3
STALL_TOKENS = 30
"""A stream that was silent for this long, or for the time of so many tokens, is taken for stalled."""
TTFT_PATIENCE = 3.0
"""So many times the p95 is waited for a first token while another rung could still take over."""


class Complexity(IntEnum):
    """How much a good answer asks of a model; numbers of ``headway.v1.Complexity``."""

    UNSPECIFIED = 0
    SIMPLE = 1
    MODERATE = 2
    COMPLEX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One way of writing. ``ttft_p50`` and the others are seconds; ``backend`` and ``model`` say who writes."""

    name: str
    tier: Tier
    backend: str
    model: str
    ttft_p50: float
    ttft_p95: float
    tpot_p50: float

    def tokens_within(self, time_left: float) -> int:
        """Output tokens that are expected to be there by then."""
        return max(0, floor((time_left - self.ttft_p50) / self.tpot_p50))

    def item_cost(self, item_tokens: float) -> float:
        """Seconds to a first item of so many tokens when things are slow."""
        return self.ttft_p95 + item_tokens * self.tpot_p50


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known when a choice is made. Times are seconds from now; ``first_item_within`` None: no wish;
    ``item_tokens`` is what one item is expected to take in the language of the answer."""

    time_left: float
    count: int
    item_tokens: float
    complexity: Complexity
    budget: Budget
    first_item_within: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The rung, None for the floor; ``max_tokens`` is 0 there. ``reason`` is one short sentence."""

    rung: Rung | None
    max_tokens: int
    reason: str

    @property
    def tier(self) -> Tier:
        """The tier of the rung."""
        return Tier.EXTRACTIVE if self.rung is None else self.rung.tier


def tokens_wanted(count: int, item_tokens: float) -> int:
    """The most output tokens that so many items can need."""
    return floor(count * item_tokens * HEADROOM) + ENVELOPE_TOKENS


def choose(ladder: Sequence[Rung], situation: Situation) -> Choice:
    """The rung to write with, out of those that can still be called, in order of preference within a tier.

    An empty ladder, or a budget that forbids all of it, gives the floor; whether the budget allows the floor is for
    the caller to ask.
    """
    allowed = [rung for rung in ladder if situation.budget.allows(rung.tier)]
    if not ladder:
        return Choice(rung=None, max_tokens=0, reason="no provider can be called")
    if not allowed:
        return Choice(rung=None, max_tokens=0, reason="the budget's tiers allow no model")
    firsts: dict[Tier, Rung] = {}
    for rung in allowed:
        firsts.setdefault(rung.tier, rung)
    by_cost = sorted(firsts.values(), key=lambda rung: rung.tier)
    for rung in reversed(by_cost[1:]):
        if _is_worth_it(rung, situation):
            wanted = tokens_wanted(situation.count, situation.item_tokens)
            return Choice(rung=rung, max_tokens=wanted, reason=f"everything fits on the {rung.name} rung")
    return _cheapest(by_cost[0], situation, is_only=len(by_cost) == 1)


def _is_worth_it(rung: Rung, situation: Situation) -> bool:
    if situation.complexity is Complexity.SIMPLE:
        return False
    wish = inf if situation.first_item_within is None else situation.first_item_within
    everything = tokens_wanted(situation.count, situation.item_tokens)
    return rung.item_cost(situation.item_tokens) <= wish and rung.tokens_within(situation.time_left) >= everything


def _cheapest(rung: Rung, situation: Situation, *, is_only: bool) -> Choice:
    fits = rung.tokens_within(situation.time_left)
    if fits < situation.item_tokens:
        return Choice(rung=None, max_tokens=0, reason="not one item of a model fits in the time left")
    wanted = tokens_wanted(situation.count, situation.item_tokens)
    if is_only:
        reason = f"the {rung.name} rung is the only one that may be used"
    elif situation.complexity is Complexity.SIMPLE:
        reason = f"the query is simple enough for the {rung.name} rung"
    elif fits < wanted:
        reason = f"only part of the items fits, so the {rung.name} rung writes what it can"
    else:
        reason = f"the {rung.name} rung is the best that keeps to the time"
    return Choice(rung=rung, max_tokens=max(ENVELOPE_TOKENS, min(fits, wanted)), reason=reason)


def first_content_wait(rung: Rung, others: Sequence[Rung], *, time_left: float, item_tokens: float) -> float:
    """Seconds to wait for the first content (pings are none) before the rung is given up.

    While another rung could still write an item afterwards, until that would be too late, but no longer than a few
    times the rung's own p95; else until only the floor fits.
    """
    takeovers = [time_left - FLOOR_COST - other.item_cost(item_tokens) for other in others]
    latest = max(takeovers, default=0.0)
    if latest < rung.ttft_p95:
        return max(0.0, time_left - FLOOR_COST)
    return min(latest, TTFT_PATIENCE * rung.ttft_p95)


def silence_limit(rung: Rung) -> float:
    """Seconds of silence after which a stream that had begun is taken for stalled."""
    return max(STALL_SECONDS, STALL_TOKENS * rung.tpot_p50)


def next_item_fits(
    rung: Rung, *, time_left: float, item_tokens: float, items: int, writing_for: float, begun: float
) -> bool:
    """Whether one more item is expected to be complete in time.

    ``items`` were written in ``writing_for`` seconds since the first token; the next one is expected to take as
    long as they did on average, or as long as the rung's pace says before there is one. ``begun`` is how long it is
    being written.
    """
    expected = writing_for / items if items else item_tokens * rung.tpot_p50
    return max(0.0, expected - begun) <= time_left - FLOOR_COST
