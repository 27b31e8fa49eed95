"""What the router decides, as pure functions: the intent, and how much a good answer asks of a model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum

from headway.slots import Relation, Slot


class Complexity(IntEnum):
    """How much a good answer asks of a model; numbers of ``headway.v1.Complexity``."""

    UNSPECIFIED = 0
    SIMPLE = 1
    MODERATE = 2
    COMPLEX = 3


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
    of e² to 1. ``trip_bonus`` is added to intents that recommend when the slots speak of a trip.
    """

    in_scope: float = 0.34
    support: int = 3
    sharpness: float = 20.0
    trip_bonus: float = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The intent and the second best; confidences from 0 to 1, both of one distribution."""

    intent: str
    confidence: float
    runner_up: str
    runner_up_confidence: float


def decide(
    neighbours: Sequence[Neighbour],
    intents: Sequence[str],
    fallback: str,
    trip_intents: Collection[str],
    slots: Sequence[Slot],
    rules: Rules,
) -> Verdict:
    """The intent of a query from its nearest examples and its slots.

    Score of an intent = mean similarity of its ``support`` nearest examples (fewer count as 0), plus the bonus where
    the slots speak of a trip. The fallback competes with its own examples and, as the out-of-scope class, with
    ``in_scope`` when that is more. Confidence = softmax of score times ``sharpness``. Without neighbours: the
    fallback, surely.
    """
    near: dict[str, list[float]] = defaultdict(list)
    for each in sorted(neighbours, key=lambda each: -each.similarity):
        if len(near[each.intent]) < rules.support:
            near[each.intent].append(each.similarity)
    scores = {intent: sum(near[intent]) / rules.support for intent in intents}
    if speaks_of_a_trip(slots):
        for intent in trip_intents:
            scores[intent] += rules.trip_bonus
    scores[fallback] = max(scores[fallback], rules.in_scope)
    # Equal scores fall to the order of the domain, so the same query never has two answers.
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


def speaks_of_a_trip(slots: Sequence[Slot]) -> bool:
    """True when the slots name a destination and with it how long, who or what for; exclusions do not count."""
    names = {slot.name for slot in slots if slot.relation is not Relation.EXCLUDED}
    return "destination" in names and bool(names & {"nights", "days", "party", "children", "theme"})


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
