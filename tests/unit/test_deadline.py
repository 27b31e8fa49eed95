"""Deadlines and allowances, as properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.budget import Budget, Tier, allowance, effective_reserve
from headway.deadline import NO_DEADLINE_BEYOND, Deadline, rounding_of, stricter
from headway.request import DeadlineSource, deadline_of_call
from headway.testing import ManualClock

spans = st.floats(min_value=-10, max_value=1e6, allow_nan=False)
lengths = st.floats(min_value=0, max_value=1e4, allow_nan=False)


@given(spans, spans)
def test_the_stricter_of_two_deadlines_does_not_depend_on_their_order(one: float, other: float) -> None:
    clock = ManualClock()
    first, second = Deadline.after(one, clock), Deadline.after(other, clock)
    both = stricter(first, second)
    assert both == stricter(second, first)
    assert both is not None
    assert both.instant == min(first.instant, second.instant)


@given(spans)
def test_no_deadline_loses_against_any(span: float) -> None:
    deadline = Deadline.after(span, ManualClock())
    assert stricter(None, deadline) is deadline
    assert stricter(deadline, None) is deadline
    assert stricter(None, None) is None


@given(spans, lengths)
def test_remaining_time_never_grows_and_is_never_negative(span: float, passed: float) -> None:
    clock = ManualClock()
    deadline = Deadline.after(span, clock)
    before = deadline.remaining()
    clock.advance(passed)
    assert 0 <= deadline.remaining() <= before


def test_a_deadline_expires_at_its_instant() -> None:
    clock = ManualClock()
    deadline = Deadline.after(1.0, clock)
    assert not deadline.expired()
    clock.advance(1.0)
    assert deadline.expired()
    assert deadline.remaining() == 0


def test_the_runtimes_huge_number_means_no_deadline() -> None:
    clock = ManualClock()
    assert Deadline.from_time_remaining(None, clock) is None
    assert Deadline.from_time_remaining(NO_DEADLINE_BEYOND * 2, clock) is None
    assert Deadline.from_time_remaining(2.0, clock) == Deadline.after(1.99, clock)


@pytest.mark.parametrize(
    ("span", "step"), [(0.15, 0.001), (0.999, 0.001), (1.0, 0.01), (9.9, 0.01), (30.0, 0.1), (200, 1)]
)
def test_what_the_wire_rounds_up_is_taken_off_again(span: float, step: float) -> None:
    assert rounding_of(span) == pytest.approx(step)


@given(
    remaining=lengths,
    reserve=lengths,
    caps=st.lists(st.tuples(lengths, lengths), min_size=1, max_size=6),
)
def test_allowances_and_reserve_never_exceed_what_remains(
    remaining: float, reserve: float, caps: list[tuple[float, float]]
) -> None:
    """Every stage in turn takes all it may; what it leaves covers the later floors whenever that was possible at
    all.
    """
    floors = [floor for _, floor in caps]
    left = remaining
    for index, (cap, _) in enumerate(caps):
        given_to_stage = allowance(remaining=left, reserve=reserve, later_floor_costs=floors[index + 1 :], cap=cap)
        assert 0 <= given_to_stage <= cap
        if given_to_stage > 0:
            assert given_to_stage + reserve + sum(floors[index + 1 :]) <= left * (1 + 1e-9) + 1e-9
        left -= given_to_stage
    assert left >= min(reserve, remaining) - 1e-6


@given(lengths, lengths, lengths, lengths)
def test_less_time_never_yields_a_larger_allowance(one: float, other: float, reserve: float, cap: float) -> None:
    less, more = sorted((one, other))
    small = allowance(remaining=less, reserve=reserve, later_floor_costs=(0.1,), cap=cap)
    large = allowance(remaining=more, reserve=reserve, later_floor_costs=(0.1,), cap=cap)
    assert small <= large


@given(lengths, lengths)
def test_the_reserve_never_eats_a_short_deadline(configured: float, remaining: float) -> None:
    assert effective_reserve(configured, remaining) <= remaining / 5
    assert effective_reserve(configured, remaining) <= configured


def test_a_budget_allows_only_tiers_between_its_floor_and_its_ceiling() -> None:
    budget = Budget(floor_tier=Tier.SMALL, ceiling_tier=Tier.SMALL)
    assert [budget.allows(tier) for tier in (Tier.EXTRACTIVE, Tier.SMALL, Tier.LARGE)] == [False, True, False]
    assert all(Budget().allows(tier) for tier in (Tier.EXTRACTIVE, Tier.SMALL, Tier.LARGE))


def test_a_call_gets_the_callers_deadline_the_default_or_the_longest() -> None:
    clock = ManualClock()

    def seen(remaining: float | None) -> tuple[float, DeadlineSource]:
        deadline, source = deadline_of_call(remaining, default=5.0, longest=60.0, clock=clock)
        return deadline.remaining(), source

    assert seen(2.0) == (pytest.approx(1.99), DeadlineSource.CALLER)
    assert seen(None) == (5.0, DeadlineSource.DEFAULT)
    assert seen(600.0) == (60.0, DeadlineSource.CLAMPED)
