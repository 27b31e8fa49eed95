"""What the router decides, as pure functions: the intent, and how much a good answer asks of a model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from headway.slots import Relation, Slot, wanted


class Complexity(IntEnum):
    """How much a good answer asks of a model; numbers of ``headway.v1.Complexity``."""

    UNSPECIFIED = 0
    SIMPLE = 1
    MODERATE = 2
    COMPLEX = 3


_KINDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "length": frozenset({"nights", "days"}),
        "party": frozenset({"party", "children", "party_size", "adults"}),
        "theme": frozenset({"theme", "section", "exclusion"}),
        "budget": frozenset({"budget"}),
        "when": frozenset({"season", "month", "date"}),
    }
)
"""What a trip consists of beside its destination, by the slots that say it."""
_OF_A_TRIP = frozenset({"nights", "days", "party", "children", "theme"})
_FEW, _FEW_BESIDE_LENGTH = 1, 3
"""Words that may be left in a query which speaks of a trip mainly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An example utterance near the query: the intent it stands for and its cosine similarity, -1 to 1."""

    intent: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How similarities become an intent.

    Below ``in_scope`` the query is like no example and the fallback is taken. ``support`` examples speak for each
    intent. ``sharpness`` turns differences of similarity into confidence: 0.1 of similarity at sharpness 20 is odds
    of e² to 1. ``trip_bonus`` is added to intents that recommend when the slots speak of a trip; when they mainly do,
    ``hinted`` is the least score of the one that fits, so that a trip to where no example goes is in scope. A query
    that says nothing but what a trip consists of is for that intent by ``said``, or by ``named`` when it says a place.
    """

    in_scope: float = 0.34
    support: int = 3
    sharpness: float = 20.0
    trip_bonus: float = 0.06
    hinted: float = 0.46
    said: float = 0.12
    named: float = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The intent and the second best; confidences from 0 to 1, both of one distribution."""

    intent: str
    confidence: float
    runner_up: str
    runner_up_confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a query says beside its likeness to examples: its slots, how many words are ``left`` that none of them
    covers, whether it names a whole place rather than a sight or a district, and whether it has a word for a trip."""

    slots: Sequence[Slot] = ()
    left: int = 99
    whole_place: bool = False
    trip: bool = False


class Speaks(IntEnum):
    """How clearly slots speak of a trip: beside much else, beside a word or two, or alone."""

    NOT = 0
    OF_A_TRIP = 1
    OF_A_TRIP_MAINLY = 2
    OF_A_PLACE_ALONE = 3
    OF_A_TRIP_ALONE = 4


def decide(
    neighbours: Sequence[Neighbour],
    intents: Sequence[str],
    fallback: str,
    trip_intents: Mapping[str, Sequence[str]],
    said: Said,
    rules: Rules,
) -> Verdict:
    """The intent of a query from its nearest examples and its slots; ``trip_intents`` are those that recommend, with
    the sections that each is for (none: all).

    Score of an intent = mean similarity of its ``support`` nearest examples (fewer count as 0), plus what the slots
    speak for. The fallback competes with its own examples and, as the out-of-scope class, with ``in_scope`` when that
    is more. Confidence = softmax of score times ``sharpness``. Without neighbours and slots: the fallback, surely.
    """
    near: dict[str, list[float]] = defaultdict(list)
    for each in sorted(neighbours, key=lambda each: -each.similarity):
        if len(near[each.intent]) < rules.support:
            near[each.intent].append(each.similarity)
    scores = {intent: sum(near[intent]) / rules.support for intent in intents}
    _add_trip(scores, trip_intents, said, rules)
    # Equal scores fall to the order of the domain, so the same query never has two answers.
    scores[fallback] = max(scores[fallback], rules.in_scope)
    ranked = sorted(scores, key=lambda intent: -scores[intent])
    weights = {intent: math.exp(rules.sharpness * (scores[intent] - scores[ranked[0]])) for intent in ranked}
    whole = sum(weights.values())
    second = ranked[1] if len(ranked) > 1 else ""
    return Verdict(
        intent=ranked[0],
        confidence=weights[ranked[0]] / whole,
        runner_up=second,
        runner_up_confidence=weights[second] / whole if second else 0.0,
    )


def _add_trip(scores: dict[str, float], trip_intents: Mapping[str, Sequence[str]], said: Said, rules: Rules) -> None:
    """Raises the scores of intents that recommend by what the slots say."""
    how = speaks_of_a_trip(said)
    fitting = _fitting(trip_intents, said.slots)
    if how is Speaks.NOT or not fitting:
        return
    if how is not Speaks.OF_A_PLACE_ALONE:
        for intent in (fitting,) if how is Speaks.OF_A_TRIP_MAINLY else trip_intents:
            scores[intent] += rules.trip_bonus
    if how is Speaks.OF_A_TRIP_MAINLY:
        scores[fitting] = max(scores[fitting], rules.hinted)
    if how in (Speaks.OF_A_PLACE_ALONE, Speaks.OF_A_TRIP_ALONE):
        others = max((score for intent, score in scores.items() if intent != fitting), default=0.0)
        lead = rules.said if how is Speaks.OF_A_TRIP_ALONE else rules.named
        scores[fitting] = max(scores[fitting], max(others, rules.in_scope) + lead)


def _fitting(trip_intents: Mapping[str, Sequence[str]], slots: Sequence[Slot]) -> str:
    """The intent that recommends just the sections asked for, else the first that recommends all, or none."""
    asked = set(wanted(slots, "section"))
    narrow = (intent for intent, sections in trip_intents.items() if asked and set(sections) == asked)
    whole = (intent for intent, sections in trip_intents.items() if not sections)
    return next(narrow, None) or next(whole, "")


def speaks_of_a_trip(said: Said) -> Speaks:
    """Slots speak of a trip when they name a destination and with it how long, who or what for: mainly, when hardly a
    word is left; alone, when none is, and then any two of these and of budget, head count and date do.

    A whole place alone, or a section alone, asks for recommendations too. Exclusions count only where nothing else is
    said. Head counts, budgets and dates beside other words go with any purchase. A word for a trip will do for what a
    trip is for, where few words are left.
    """
    names = {slot.name for slot in said.slots if slot.relation is not Relation.EXCLUDED}
    if not said.left and "destination" in names:
        names |= {slot.name for slot in said.slots}
    kinds = {kind for kind, members in _KINDS.items() if names & members}
    place = "destination" in names
    if not said.left:
        if len(kinds) + place >= 2:
            return Speaks.OF_A_TRIP_ALONE
        alone = (place and said.whole_place) or "section" in names
        return Speaks.OF_A_PLACE_ALONE if alone else Speaks.NOT
    if not (place and names & _OF_A_TRIP):
        return Speaks.OF_A_TRIP if place and said.trip and said.left <= _FEW else Speaks.NOT
    few = _FEW_BESIDE_LENGTH if "length" in kinds else _FEW
    return Speaks.OF_A_TRIP_MAINLY if said.left <= few else Speaks.OF_A_TRIP


def complexity(slots: Sequence[Slot], chars: int) -> Complexity:
    """How much the query asks to hold together: wishes beside the destination, exclusions, several places, length.

    A wish is a part of the text that says something; two slots out of the same words are one wish.
    """
    said = {(slot.text or slot.name) for slot in slots if slot.text and slot.name != "destination"}
    out = {slot.text for slot in slots if slot.relation is Relation.EXCLUDED}
    places = {slot.value for slot in slots if slot.name == "destination" and slot.relation is not Relation.EXCLUDED}
    weight = len(said | out) + len(out) + max(0, len(places) - 1)
    if weight >= 7 or chars > 240:
        return Complexity.COMPLEX
    return Complexity.MODERATE if weight >= 3 or chars > 100 else Complexity.SIMPLE
