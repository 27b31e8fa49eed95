from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.slots import Relation, Slot
from services.router.policy import Complexity, Neighbour, Rules, complexity, decide, speaks_of_a_trip

INTENTS = ("trip", "flight", "other")


def verdict(neighbours: list[Neighbour], slots: tuple[Slot, ...] = (), rules: Rules | None = None):
    return decide(neighbours, INTENTS, "other", ("trip",), slots, rules or Rules())


def near(intent: str, *similarities: float) -> list[Neighbour]:
    return [Neighbour(intent=intent, similarity=each) for each in similarities]


def test_the_intent_with_the_nearest_examples_wins_and_the_next_is_the_runner_up() -> None:
    found = verdict(near("flight", 0.9, 0.8, 0.8) + near("trip", 0.6, 0.6, 0.6))
    assert (found.intent, found.runner_up) == ("flight", "trip")
    assert found.confidence > 0.9


def test_a_query_like_no_example_is_out_of_scope() -> None:
    assert verdict(near("flight", 0.2, 0.2, 0.2)).intent == "other"


def test_no_neighbours_at_all_mean_the_fallback() -> None:
    assert verdict([]).intent == "other"


def test_one_lucky_example_does_not_beat_three_good_ones() -> None:
    assert verdict(near("flight", 0.85) + near("trip", 0.7, 0.7, 0.7)).intent == "trip"


def test_slots_that_speak_of_a_trip_tip_the_scales() -> None:
    close = near("flight", 0.62, 0.62, 0.62) + near("trip", 0.6, 0.6, 0.6)
    slots = (Slot(name="destination", value="jeju"), Slot(name="nights", value="3"))
    assert verdict(close).intent == "flight"
    assert verdict(close, slots).intent == "trip"


def test_a_domain_with_one_intent_has_no_runner_up() -> None:
    found = decide([], ("only",), "only", (), (), Rules())
    assert (found.intent, found.confidence, found.runner_up, found.runner_up_confidence) == ("only", 1.0, "", 0.0)


@given(st.lists(st.tuples(st.sampled_from(INTENTS), st.floats(-1, 1)), max_size=40))
def test_confidences_are_probabilities_and_the_first_is_the_greater(pairs: list[tuple[str, float]]) -> None:
    found = verdict([Neighbour(intent=intent, similarity=similarity) for intent, similarity in pairs])
    assert 0 <= found.runner_up_confidence <= found.confidence <= 1
    assert found.confidence + found.runner_up_confidence <= 1 + 1e-9
    assert found.intent in INTENTS
    assert found.runner_up != found.intent


@given(st.permutations(near("trip", 0.5, 0.6) + near("flight", 0.55, 0.7) + near("other", 0.4)))
def test_the_order_of_neighbours_does_not_matter(neighbours: list[Neighbour]) -> None:
    assert verdict(neighbours) == verdict(sorted(neighbours, key=lambda each: -each.similarity))


@pytest.mark.parametrize(
    ("slots", "trip"),
    [
        ((), False),
        ((Slot(name="destination", value="jeju"),), False),
        ((Slot(name="nights", value="3"),), False),
        ((Slot(name="destination", value="jeju"), Slot(name="party", value="family")), True),
        ((Slot(name="destination", value="jeju", relation=Relation.EXCLUDED), Slot(name="nights", value="3")), False),
    ],
)
def test_a_trip_needs_a_place_and_something_more(slots: tuple[Slot, ...], trip: bool) -> None:
    assert speaks_of_a_trip(slots) is trip


def test_one_wish_is_simple_several_are_moderate_many_or_long_are_complex() -> None:
    wishes = [Slot(name="theme", value=f"t{at}", text=f"t{at}") for at in range(8)]
    assert complexity((), 5) is Complexity.SIMPLE
    assert complexity(wishes[:2], 20) is Complexity.SIMPLE
    assert complexity(wishes[:4], 40) is Complexity.MODERATE
    assert complexity(wishes, 80) is Complexity.COMPLEX
    assert complexity((), 500) is Complexity.COMPLEX


def test_two_slots_out_of_the_same_words_are_one_wish() -> None:
    same = [Slot(name=name, value="x", text="3박4일") for name in ("nights", "days")] * 4
    assert complexity(same, 10) is Complexity.SIMPLE


@given(st.lists(st.sampled_from([Slot(name="theme", value=f"t{at}", text=f"t{at}") for at in range(9)]), max_size=9))
def test_more_wishes_are_never_simpler(slots: list[Slot]) -> None:
    assert complexity(slots, 10) >= complexity(slots[:-1], 10)
