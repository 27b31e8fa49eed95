"""What retrieval does with the time it has.

Decides on which rung the catalogue is searched and whether, and for how long, the web is asked. Pure: seconds and
facts come in, a plan comes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.budget import allowance

LEAST_FOR_HYBRID = 0.004
"""Seconds; with less than that only one ranking is made."""


class Rung(StrEnum):
    """Ways of searching the catalogue, best first."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


class WebChoice(StrEnum):
    """Why the web is asked or not."""

    ASKED = "asked"
    NO_ADAPTER = "no adapter"
    NOT_WANTED = "not wanted"
    NO_TIME = "no time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known when a request arrives. Spans are seconds; ``web_within`` None: the caller left it open.

    ``embedding_at_hand``: the router sent one of the right model; ``encoder_at_hand``: we can make one ourselves.
    """

    remaining: float
    reserve: float
    embedding_at_hand: bool
    encoder_at_hand: bool
    web_adapter: str
    internal_only: bool
    web_within: float | None
    web_cap: float
    web_floor: float
    embedding_cost: float = 0.003


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be done. ``web_allowance`` is 0 where the web is not asked."""

    rung: Rung
    web: WebChoice
    web_allowance: float
    reason: str


def planned(situation: Situation) -> Plan:
    """The plan for a situation; less time never yields more work."""
    rung, why = _rung(situation)
    web, span = _web(situation)
    return Plan(rung=rung, web=web, web_allowance=span, reason=f"{why}; {_web_reason(situation, web)}")


def _rung(situation: Situation) -> tuple[Rung, str]:
    available = max(0.0, situation.remaining - situation.reserve)
    if not situation.embedding_at_hand:
        if not situation.encoder_at_hand:
            return Rung.LEXICAL, "no embedding of the catalogue's model is to be had"
        if available < LEAST_FOR_HYBRID + situation.embedding_cost:
            return Rung.LEXICAL, "no time to embed the query"
    elif available < LEAST_FOR_HYBRID:
        return Rung.VECTOR, "no time for more than one ranking"
    return Rung.HYBRID, "time for words and vectors"


def _web(situation: Situation) -> tuple[WebChoice, float]:
    if situation.web_adapter == "none":
        return WebChoice.NO_ADAPTER, 0.0
    if situation.internal_only:
        return WebChoice.NOT_WANTED, 0.0
    cap = situation.web_cap if situation.web_within is None else min(situation.web_cap, situation.web_within)
    span = allowance(remaining=situation.remaining, reserve=situation.reserve, later_floor_costs=(), cap=cap)
    if span < situation.web_floor:
        return WebChoice.NO_TIME, 0.0
    return WebChoice.ASKED, span


def _web_reason(situation: Situation, choice: WebChoice) -> str:
    return {
        WebChoice.ASKED: f"web search by {situation.web_adapter}",
        WebChoice.NO_ADAPTER: "no web search is configured",
        WebChoice.NOT_WANTED: "the caller left the web out",
        WebChoice.NO_TIME: "no time for the web",
    }[choice]
