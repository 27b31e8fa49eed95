"""How the orchestrator divides time and items. Pure: spans and counts in, spans and counts out.

allowance(stage) = min(cap(stage), remaining - reserve - sum of the floor costs of the later stages); see
headway.budget. The floor costs are priors from configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.budget import allowance

UNDETERMINED = "und"


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


def chosen_sections(*, asked: Sequence[str], intent: Sequence[str], domain: Sequence[str]) -> tuple[str, ...]:
    """The sections to fill, in the domain's order: those asked for, else those of the intent, else all."""
    wanted = set(asked) or set(intent) or set(domain)
    return tuple(name for name in domain if name in wanted)


def divided(sections: Sequence[str], *, max_items: int, web_expected: bool) -> tuple[Wish, ...]:
    """Items for each section, as evenly as possible, earlier sections first; sections that get none are left out.

    When web results are expected, sections of three items or more hold one back for them, so that generation starts on
    internal records without waiting for the web and fresh results still have a place.
    """
    if not sections:
        return ()
    share, surplus = divmod(max_items, len(sections))
    wishes = []
    for index, section in enumerate(sections):
        total = share + (1 if index < surplus else 0)
        held_back = 1 if web_expected and total >= 3 else 0
        if total:
            wishes.append(Wish(section=section, at_once=total - held_back, held_back=held_back))
    return tuple(wishes)


def shared_out(count: int, wishes: Sequence[Wish]) -> Mapping[str, int]:
    """How many of ``count`` web records that fit any section each section gets, round robin over its held-back
    items.
    """
    takers = [wish.section for wish in wishes if wish.held_back] or [wish.section for wish in wishes]
    shares = dict.fromkeys(takers, 0)
    for index in range(count if takers else 0):
        shares[takers[index % len(takers)]] += 1
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
