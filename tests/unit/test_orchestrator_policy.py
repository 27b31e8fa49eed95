"""How the orchestrator divides time and items."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.ledger import Finish, Stage
from headway.slots import Relation, Slot
from services.orchestrator import policy
from services.orchestrator.account import Account

PRIORS = policy.Priors(
    router_cap=0.3,
    router_floor=0.008,
    retrieval_cap=1.0,
    retrieval_floor=0.02,
    web_cap=2.0,
    web_generation=0.9,
    generator_floor=0.015,
)
SECTIONS = ("lodging", "food", "sights")
spans = st.floats(min_value=0, max_value=120, allow_nan=False)


@given(remaining=spans, reserve=spans)
def test_every_stage_leaves_the_reserve_and_the_floors_of_the_later_ones(remaining: float, reserve: float) -> None:
    router = policy.router_allowance(PRIORS, remaining=remaining, reserve=reserve)
    left = remaining - router
    retrieval = policy.retrieval_allowance(PRIORS, remaining=left, reserve=reserve)
    generation = policy.generation_allowance(PRIORS, remaining=left - retrieval, reserve=reserve)
    assert min(router, retrieval, generation) >= 0
    assert router + retrieval + generation + min(reserve, remaining) <= remaining + 1e-9
    if router > 0:
        assert left - reserve >= PRIORS.retrieval_floor + PRIORS.generator_floor - 1e-9


@given(one=spans, other=spans, reserve=spans)
def test_less_time_never_yields_a_longer_web_search(one: float, other: float, reserve: float) -> None:
    less, more = sorted((one, other))
    assert policy.web_allowance(PRIORS, remaining=less, reserve=reserve) <= policy.web_allowance(
        PRIORS, remaining=more, reserve=reserve
    )


def test_the_web_is_left_out_when_nothing_could_be_written_about_its_results() -> None:
    assert policy.web_allowance(PRIORS, remaining=0.9, reserve=0.05) == 0
    assert policy.web_allowance(PRIORS, remaining=5.0, reserve=0.05) == 2.0


@given(count=st.integers(min_value=1, max_value=50), web=st.booleans(), sections=st.sampled_from([1, 2, 3]))
def test_items_are_divided_completely_and_evenly(count: int, web: bool, sections: int) -> None:
    wishes = policy.divided(SECTIONS[:sections], max_items=count, web_expected=web)
    totals = [wish.total for wish in wishes]
    assert sum(totals) == count
    assert max(totals) - min(totals) <= 1
    assert sum(wish.at_once for wish in wishes) >= 1
    assert web or not any(wish.held_back for wish in wishes)


def test_one_item_in_six_is_held_back_for_the_web() -> None:
    wishes = policy.divided(SECTIONS, max_items=9, web_expected=True)
    assert [(wish.section, wish.at_once, wish.held_back) for wish in wishes] == [
        ("lodging", 3, 0),
        ("food", 3, 0),
        ("sights", 2, 1),
    ]
    assert sum(wish.held_back for wish in policy.divided(SECTIONS, max_items=36, web_expected=True)) == 6
    assert [wish.held_back for wish in policy.divided(SECTIONS, max_items=3, web_expected=True)] == [0, 0, 1]
    assert sum(wish.held_back for wish in policy.divided(SECTIONS, max_items=2, web_expected=True)) == 0


@given(count=st.integers(min_value=1, max_value=50), most=st.integers(min_value=1, max_value=10))
def test_ranks_are_dealt_completely_to_pieces_of_bounded_size(count: int, most: int) -> None:
    hands = policy.dealt(count, per_piece=most)
    assert sorted(rank for hand in hands for rank in hand) == list(range(1, count + 1))
    assert all(1 <= len(hand) <= most for hand in hands)
    assert [hand[0] for hand in hands] == list(range(1, len(hands) + 1))


def test_held_back_items_go_where_the_web_has_something_to_say() -> None:
    assert policy.placed(1, {"food": 2, "lodging": 1}, otherwise="sights") == {"food": 1}
    assert policy.placed(3, {"food": 1, "lodging": 1}, otherwise="sights") == {"food": 1, "lodging": 1, "sights": 1}
    assert policy.placed(2, {}, otherwise="sights") == {"sights": 2}


def test_web_records_that_fit_anywhere_are_shared_round_robin() -> None:
    assert policy.shared_out(5, SECTIONS) == {"lodging": 2, "food": 2, "sights": 1}
    assert policy.shared_out(3, ()) == {}


@pytest.mark.parametrize(
    ("asked", "intent", "expected"),
    [
        ((), (), SECTIONS),
        (("sights", "lodging"), (), ("lodging", "sights")),
        ((), ("lodging",), ("lodging",)),
        (("food",), ("lodging",), ("food",)),
    ],
)
def test_the_callers_sections_win_over_those_of_the_intent(
    asked: tuple[str, ...], intent: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert policy.chosen_sections(asked=asked, intent=intent, domain=SECTIONS) == expected


@pytest.mark.parametrize(
    ("asked", "said", "out", "intent", "expected"),
    [
        ((), ("food",), (), (), ("food",)),
        ((), ("food", "lodging"), (), ("lodging",), ("lodging", "food")),
        (("sights",), ("food",), (), (), ("sights",)),
        ((), (), ("lodging",), (), ("food", "sights")),
        (("lodging",), (), ("lodging",), (), ("lodging",)),
        ((), (), ("lodging",), ("lodging",), ("lodging",)),
        ((), ("films",), (), (), ("lodging", "food", "sights")),
    ],
)
def test_sections_that_the_query_names_come_before_those_of_its_intent(
    asked: tuple[str, ...], said: tuple[str, ...], out: tuple[str, ...], intent: tuple[str, ...], expected: Any
) -> None:
    slots = [Slot(name="section", value=name) for name in said]
    slots += [Slot(name="section", value=name, relation=Relation.EXCLUDED) for name in out]
    assert policy.chosen_sections(asked=asked, slots=slots, intent=intent, domain=SECTIONS) == expected


@pytest.mark.parametrize(
    ("locale", "query", "expected"),
    [("", "ko", "ko"), ("en-GB", "ko", "en"), ("ja_JP", "ko", "ja"), ("de", "ko", "ko"), ("", "xx", "en")],
)
def test_the_answer_is_in_the_locale_else_in_the_querys_language_else_in_english(
    locale: str, query: str, expected: str
) -> None:
    assert policy.answer_language(locale=locale, query_language=query, supported=("ko", "en", "ja")) == expected


def test_the_script_tells_the_language_when_the_router_cannot() -> None:
    assert policy.language_by_script("제주도 3박4일") == "ko"
    assert policy.language_by_script("東京に子供と行きたい") == "ja"
    assert policy.language_by_script("three days in Tokyo") == "en"
    assert policy.language_by_script("Привет") == policy.UNDETERMINED


def test_an_answer_ends_for_time_before_upstreams_before_its_number_of_items() -> None:
    account = Account(items=9)
    assert account.finish(wanted=9) is Finish.MAX_ITEMS
    assert Account(items=4).finish(wanted=9) is Finish.COMPLETE
    account.endings += [Finish.MAX_ITEMS, Finish.UPSTREAM_EXHAUSTED]
    assert account.finish(wanted=9) is Finish.UPSTREAM_EXHAUSTED
    account.endings.append(Finish.DEADLINE)
    assert account.finish(wanted=9) is Finish.DEADLINE


def test_stages_are_told_in_the_order_in_which_they_began() -> None:
    account = Account()
    account.add_stages([Stage(name="retrieval.web", spent=1.0, started_after=0.1)], offset=0.5)
    account.add_stages([Stage(name="router", spent=0.1)], offset=0.0)
    assert [(stage.name, round(stage.started_after, 6)) for stage in account.ledger()] == [
        ("router", 0.0),
        ("retrieval.web", 0.6),
    ]
