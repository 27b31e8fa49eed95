from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.slots import Relation, Slot
from services.router.policy import Complexity, Neighbour, Rules, Said, Speaks, complexity, decide, speaks_of_a_trip

INTENTS = ("trip", "flight", "other", "bed")
TRIPS = {"bed": ("lodging",), "trip": ()}
JEJU = Slot(name="destination", value="jeju")
NIGHTS = Slot(name="nights", value="3")
FAMILY = Slot(name="party", value="family")


def verdict(neighbours: list[Neighbour], *slots: Slot, left: int = 9, whole_place: bool = True):
    said = Said(slots=slots, left=left, whole_place=whole_place)
    return decide(neighbours, INTENTS, "other", TRIPS, said, Rules())


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
    assert verdict(close).intent == "flight"
    assert verdict(close, JEJU, NIGHTS).intent == "trip"


def test_a_trip_to_where_no_example_goes_is_in_scope() -> None:
    far = near("trip", 0.2, 0.2, 0.2) + near("other", 0.3, 0.3, 0.3)
    assert verdict(far).intent == "other"
    assert verdict(far, JEJU, NIGHTS, left=3).intent == "trip"
    assert verdict(far, JEJU, NIGHTS, left=4).intent == "other"
    assert verdict(near("other", 0.5, 0.5, 0.5), JEJU, NIGHTS, left=3).intent == "other"


def test_a_query_of_nothing_but_a_trip_is_for_one_whatever_it_is_like() -> None:
    like_flights = near("flight", 0.9, 0.9, 0.9)
    assert verdict(like_flights, JEJU, NIGHTS).intent == "flight"
    alone = verdict(like_flights, JEJU, NIGHTS, left=0)
    assert alone.intent == "trip"
    assert alone.confidence > 0.8


def test_a_place_alone_asks_for_a_trip_and_a_sight_alone_does_not() -> None:
    like_lookups = near("other", 0.5, 0.5, 0.5)
    found = verdict(like_lookups, JEJU, left=0)
    assert found.intent == "trip"
    assert found.confidence < verdict(like_lookups, JEJU, NIGHTS, left=0).confidence
    assert verdict(like_lookups, JEJU, left=0, whole_place=False).intent == "other"
    assert verdict(like_lookups, JEJU, left=1).intent == "other"


def test_what_asks_for_one_section_alone_is_for_the_intent_of_that_section() -> None:
    lodging = Slot(name="section", value="lodging")
    food = Slot(name="section", value="food")
    assert verdict([], JEJU, lodging, left=0).intent == "bed"
    assert verdict([], JEJU, lodging, food, left=0).intent == "trip"
    assert verdict([], JEJU, food, left=0).intent == "trip"


def test_a_domain_with_one_intent_has_no_runner_up() -> None:
    found = decide([], ("only",), "only", {}, Said(), Rules())
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
    ("slots", "left", "speaks"),
    [
        ((), 1, Speaks.NOT),
        ((), 0, Speaks.NOT),
        ((JEJU,), 1, Speaks.NOT),
        ((JEJU,), 0, Speaks.OF_A_PLACE_ALONE),
        ((NIGHTS,), 0, Speaks.NOT),
        ((Slot(name="section", value="food"),), 0, Speaks.OF_A_PLACE_ALONE),
        ((Slot(name="section", value="food"),), 1, Speaks.NOT),
        ((NIGHTS, Slot(name="days", value="4")), 0, Speaks.NOT),
        ((NIGHTS, FAMILY), 1, Speaks.NOT),
        ((NIGHTS, FAMILY), 0, Speaks.OF_A_TRIP_ALONE),
        ((JEJU, FAMILY), 1, Speaks.OF_A_TRIP_MAINLY),
        ((JEJU, FAMILY), 2, Speaks.OF_A_TRIP),
        ((JEJU, NIGHTS), 3, Speaks.OF_A_TRIP_MAINLY),
        ((JEJU, NIGHTS), 4, Speaks.OF_A_TRIP),
        ((JEJU, Slot(name="budget", value="500")), 1, Speaks.NOT),
        ((JEJU, Slot(name="budget", value="500")), 0, Speaks.OF_A_TRIP_ALONE),
        ((JEJU, Slot(name="date", value="tomorrow")), 1, Speaks.NOT),
        ((JEJU, Slot(name="date", value="tomorrow")), 0, Speaks.OF_A_TRIP_ALONE),
        ((Slot(name="destination", value="jeju", relation=Relation.EXCLUDED), NIGHTS), 1, Speaks.NOT),
        ((JEJU, Slot(name="theme", value="museum", relation=Relation.EXCLUDED)), 1, Speaks.NOT),
    ],
)
def test_how_clearly_slots_speak_of_a_trip(slots: tuple[Slot, ...], left: int, speaks: Speaks) -> None:
    assert speaks_of_a_trip(Said(slots=slots, left=left, whole_place=True)) is speaks


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
