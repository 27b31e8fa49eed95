"""The generator's choices: pure functions of the time left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.budget import Budget, Tier
from services.generator import policy
from services.generator.policy import Choice, Complexity, Rung, Situation

LARGE = Rung(name="large", tier=Tier.LARGE, backend="a", model="l", ttft_p50=0.6, ttft_p95=1.1, tpot_p50=0.012)
SMALL = Rung(name="small", tier=Tier.SMALL, backend="a", model="s", ttft_p50=0.3, ttft_p95=0.55, tpot_p50=0.006)
OTHER_SMALL = Rung(name="small", tier=Tier.SMALL, backend="b", model="s", ttft_p50=0.3, ttft_p95=0.55, tpot_p50=0.006)
LADDER = [LARGE, SMALL, OTHER_SMALL]


def choose(
    time_left: float,
    *,
    ladder: list[Rung] = LADDER,
    count: int = 3,
    item_tokens: float = 100,
    complexity: Complexity = Complexity.MODERATE,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    first_item_within: float | None = None,
) -> Choice:
    situation = Situation(
        time_left=time_left,
        count=count,
        item_tokens=item_tokens,
        complexity=complexity,
        budget=budget,
        first_item_within=first_item_within,
    )
    return policy.choose(ladder, situation)


def test_with_plenty_of_time_the_large_rung_writes_everything() -> None:
    choice = choose(30.0)
    assert choice.rung == LARGE
    assert choice.max_tokens == policy.tokens_wanted(3, 100)


def test_when_not_everything_fits_the_small_rung_writes() -> None:
    assert choose(4.0).rung == SMALL


def test_when_not_one_item_fits_the_floor_writes() -> None:
    choice = choose(0.85)
    assert (choice.rung, choice.max_tokens, choice.tier) == (None, 0, Tier.EXTRACTIVE)


def test_the_limit_of_tokens_is_what_fits() -> None:
    assert choose(1.5).max_tokens == 200  # (1.5 - 0.3) / 0.006


def test_a_simple_query_goes_to_the_small_rung_however_much_time_there_is() -> None:
    assert choose(60.0, complexity=Complexity.SIMPLE).rung == SMALL


def test_a_wish_for_a_first_item_rules_a_slow_rung_out() -> None:
    assert choose(30.0, first_item_within=1.2).rung == SMALL
    assert choose(30.0, first_item_within=2.5).rung == LARGE


def test_the_tiers_of_the_budget_are_kept() -> None:
    assert choose(30.0, budget=Budget(ceiling_tier=Tier.SMALL)).rung == SMALL
    assert choose(3.0, budget=Budget(floor_tier=Tier.LARGE)).rung == LARGE
    assert choose(30.0, budget=Budget(ceiling_tier=Tier.EXTRACTIVE)).rung is None


def test_a_simple_query_does_not_overrule_the_lowest_tier_that_is_welcome() -> None:
    assert choose(30.0, complexity=Complexity.SIMPLE, budget=Budget(floor_tier=Tier.LARGE)).rung == LARGE


def test_within_a_tier_the_first_rung_is_preferred() -> None:
    assert choose(3.0, ladder=[OTHER_SMALL, SMALL]).rung == OTHER_SMALL


def test_without_any_rung_the_floor_writes() -> None:
    assert choose(30.0, ladder=[]).rung is None


def test_text_that_takes_more_tokens_gets_a_higher_limit() -> None:
    assert choose(30.0, item_tokens=150).max_tokens > choose(30.0, item_tokens=90).max_tokens


rungs = st.builds(
    Rung,
    name=st.just("r"),
    tier=st.sampled_from([Tier.SMALL, Tier.LARGE]),
    backend=st.sampled_from("ab"),
    model=st.sampled_from("xyz"),
    ttft_p50=st.floats(0.01, 3),
    ttft_p95=st.floats(0.01, 6),
    tpot_p50=st.floats(0.001, 0.1),
)
tiers = st.sampled_from(list(Tier))
situations = st.fixed_dictionaries(
    {
        "ladder": st.lists(rungs, max_size=5),
        "count": st.integers(1, 50),
        "item_tokens": st.floats(30, 400),
        "complexity": st.sampled_from(list(Complexity)),
        "budget": st.builds(Budget, floor_tier=tiers, ceiling_tier=tiers),
        "first_item_within": st.none() | st.floats(0, 10),
    }
)


@given(given_of=situations, less=st.floats(0, 60), more=st.floats(0, 60))
def test_less_time_never_yields_a_dearer_rung_nor_more_tokens(
    given_of: dict[str, object], less: float, more: float
) -> None:
    short, long = sorted((less, more))
    one, other = choose(short, **given_of), choose(long, **given_of)  # type: ignore[arg-type]
    assert one.tier <= other.tier
    assert one.max_tokens <= other.max_tokens


@given(given_of=situations, time_left=st.floats(0, 60))
def test_a_model_is_only_asked_when_the_budget_allows_it_and_an_item_fits(
    given_of: dict[str, object], time_left: float
) -> None:
    choice = choose(time_left, **given_of)  # type: ignore[arg-type]
    assert choice.reason
    if choice.rung is None:
        assert choice.max_tokens == 0
        return
    budget = given_of["budget"]
    assert isinstance(budget, Budget)
    assert budget.allows(choice.tier)
    assert choice.rung.tokens_within(time_left) >= given_of["item_tokens"]  # type: ignore[operator]
    assert policy.ENVELOPE_TOKENS <= choice.max_tokens <= choice.rung.tokens_within(time_left)


def test_a_first_token_is_waited_for_until_another_rung_would_come_too_late() -> None:
    wait = policy.first_content_wait(LARGE, [SMALL], time_left=3.0, item_tokens=100)
    assert wait == pytest.approx(3.0 - policy.FLOOR_COST - (0.55 + 0.6))


def test_a_first_token_is_waited_for_no_longer_than_a_few_times_its_p95_when_another_rung_could_take_over() -> None:
    assert policy.first_content_wait(LARGE, [SMALL], time_left=60.0, item_tokens=100) == pytest.approx(3.3)


def test_without_another_rung_a_first_token_is_waited_for_until_only_the_floor_fits() -> None:
    assert policy.first_content_wait(SMALL, [], time_left=2.0, item_tokens=100) == pytest.approx(
        2.0 - policy.FLOOR_COST
    )


def test_a_rung_that_could_take_over_only_before_the_first_one_has_begun_does_not_count() -> None:
    wait = policy.first_content_wait(SMALL, [OTHER_SMALL], time_left=1.2, item_tokens=100)
    assert wait == pytest.approx(1.2 - policy.FLOOR_COST)


@given(time_left=st.floats(0, 60), item_tokens=st.floats(30, 400), rung=rungs, others=st.lists(rungs, max_size=3))
def test_nothing_is_waited_for_beyond_the_time_left(
    time_left: float, item_tokens: float, rung: Rung, others: list[Rung]
) -> None:
    assert 0 <= policy.first_content_wait(rung, others, time_left=time_left, item_tokens=item_tokens) <= time_left


def fits(time_left: float, *, items: int = 0, writing_for: float = 0.0, begun: float = 0.0) -> bool:
    return policy.next_item_fits(
        SMALL, time_left=time_left, item_tokens=100, items=items, writing_for=writing_for, begun=begun
    )


def test_the_next_item_is_expected_to_take_as_long_as_those_before_it() -> None:
    assert fits(0.51, items=2, writing_for=1.0)
    assert not fits(0.49, items=2, writing_for=1.0)


def test_before_a_first_item_the_pace_of_the_rung_is_expected() -> None:
    assert fits(0.61)
    assert not fits(0.59)


def test_what_is_written_of_the_next_item_already_counts() -> None:
    assert fits(0.2, items=1, writing_for=0.5, begun=0.4)
