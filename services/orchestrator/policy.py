"""How the orchestrator divides time and items. Pure: spans and counts in, spans and counts out.

allowance(stage) = min(cap(stage), remaining - reserve - sum of the floor costs of the later stages); see
headway.budget. The floor costs are priors from configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.budget import allowance
from headway.slots import Slot, excluded, wanted

UNDETERMINED = "und"
ITEMS_PER_FRESH_ONE = 6
"""One item in so many waits for web results, and at least one."""
LEAST_TO_SPARE = 3
"""An answer of fewer items holds none back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Seconds: the cap of each stage, and the p95 of its cheapest rung."""

    router_cap: float
    router_floor: float
    retrieval_cap: float
    retrieval_floor: float
    web_cap: float
    web_generation: float
    generator_floor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How many items of one section: those to write at once, and those held back for web results."""

    section: str
    at_once: int
    held_back: int

    @property
    def total(self) -> int:
        return self.at_once + self.held_back


def router_allowance(priors: Priors, *, remaining: float, reserve: float) -> float:
    """Seconds for the router; what comes later can still run on its cheapest rung."""
    later = (priors.retrieval_floor, priors.generator_floor)
    return allowance(remaining=remaining, reserve=reserve, later_floor_costs=later, cap=priors.router_cap)


def retrieval_allowance(priors: Priors, *, remaining: float, reserve: float) -> float:
    """Seconds until internal records must be there."""
    return allowance(
        remaining=remaining, reserve=reserve, later_floor_costs=(priors.generator_floor,), cap=priors.retrieval_cap
    )


def web_allowance(priors: Priors, *, remaining: float, reserve: float) -> float:
    """Seconds for web search: what still leaves time to write about its results. 0 means that the web is left out."""
    return allowance(
        remaining=remaining, reserve=reserve, later_floor_costs=(priors.web_generation,), cap=priors.web_cap
    )


def generation_allowance(priors: Priors, *, remaining: float, reserve: float) -> float:
    """Seconds for one generator stream: all that is left but the floor's share and the reserve."""
    return allowance(remaining=remaining, reserve=reserve, later_floor_costs=(priors.generator_floor,), cap=remaining)


def chosen_sections(
    *, asked: Sequence[str], slots: Sequence[Slot] = (), intent: Sequence[str], domain: Sequence[str]
) -> tuple[str, ...]:
    """The sections to fill, in the domain's order: those that the caller asked for, else those of the query's slots,
    else those of the intent, else all; without those that slots rule out, unless that leaves none."""
    said, out = set(wanted(slots, "section")), set(excluded(slots, "section"))
    chosen = set(asked) or (said & set(domain)) or set(intent) or set(domain)
    left = set(asked) or chosen - out or chosen
    return tuple(name for name in domain if name in left)


def divided(sections: Sequence[str], *, max_items: int, web_expected: bool) -> tuple[Wish, ...]:
    """Items for each section, as evenly as possible, earlier sections first; sections that get none are left out.

    When web results are expected, one item in ``ITEMS_PER_FRESH_ONE`` is held back for them, out of the last section,
    so that generation starts on internal records without waiting for the web and fresh results still have a place. One
    for all sections, not one for each: every call to a model costs the prompt once more. Answers of one or two items
    wait for nothing.
    """
    if not sections:
        return ()
    share, surplus = divmod(max_items, len(sections))
    totals = {section: share + (1 if index < surplus else 0) for index, section in enumerate(sections)}
    last = [section for section, total in totals.items() if total][-1]
    fresh = max(1, max_items // ITEMS_PER_FRESH_ONE) if web_expected and max_items >= LEAST_TO_SPARE else 0
    fresh = min(fresh, totals[last])
    return tuple(
        Wish(
            section=section,
            at_once=total - (fresh if section == last else 0),
            held_back=fresh if section == last else 0,
        )
        for section, total in totals.items()
        if total
    )


def web_is_awaited(wishes: Sequence[Wish]) -> bool:
    """True when some item is held back for web results, so that there is a place for them."""
    return any(wish.held_back for wish in wishes)


def dealt(count: int, *, per_piece: int) -> tuple[tuple[int, ...], ...]:
    """Ranks from 1 to ``count`` dealt to pieces of at most ``per_piece`` items, like cards.

    A section with many items is written by several streams at once, each a part of the ranks: the whole takes as long
    as the longest part, and the best records are spread over all of them.
    """
    pieces = -(-count // per_piece)
    return tuple(tuple(range(first, count + 1, pieces)) for first in range(1, pieces + 1))


def placed(fresh: int, evident: Mapping[str, int], *, otherwise: str) -> Mapping[str, int]:
    """Where held-back items go: to sections that web records are evidently about, round robin and no more than there
    are such records, the rest to the section they were held back from."""
    left, places = dict(evident), dict.fromkeys(evident, 0)
    for _ in range(fresh):
        best = max(left, key=lambda section: (left[section], -places[section]), default=None)
        if best is None or left[best] <= 0:
            places[otherwise] = places.get(otherwise, 0) + 1
            continue
        left[best] -= 1
        places[best] += 1
    return {section: count for section, count in places.items() if count}


def shared_out(count: int, sections: Sequence[str]) -> Mapping[str, int]:
    """How many of ``count`` web records that fit any section each of the sections gets, round robin."""
    shares = dict.fromkeys(sections, 0)
    for index in range(count if sections else 0):
        shares[sections[index % len(sections)]] += 1
    return shares


def answer_language(*, locale: str, query_language: str, supported: Sequence[str]) -> str:
    """The language to answer in: the locale's, else the query's, when the domain was written for it, else English."""
    for candidate in (locale.replace("_", "-").split("-")[0].lower(), query_language):
        if candidate in supported:
            return candidate
    return "en" if "en" in supported or not supported else supported[0]


def language_by_script(query: str) -> str:
    """A guess from the script alone, for when the router cannot be asked."""
    if any("\uac00" <= char <= "\ud7a3" for char in query):
        return "ko"
    if any("\u3040" <= char <= "\u30ff" for char in query):
        return "ja"
    return "en" if query.isascii() else UNDETERMINED


def worth_asking_again(*, remaining: float, reserve: float, first_token: float) -> bool:
    """True when a generator that broke off can be asked for the rest: a first token would still come in time."""
    return remaining - reserve > first_token
