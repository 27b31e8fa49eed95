"""What follows when a child process ends by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.cli.backoff import GiveUp, Restart, Rules, after_exit, ending

RULES = Rules(first=0.5, longest=4.0, jitter=0.5, settled=20.0, most=6)
draws = st.floats(0, 1, exclude_max=True)


def verdict(*, code: int = 1, ran: float = 0.1, early: int = 0, draw: float = 0.0) -> Restart | GiveUp:
    return after_exit(code=code, ran=ran, early=early, draw=draw, rules=RULES)


def test_waits_double_with_each_early_crash_up_to_the_longest() -> None:
    waits = [verdict(early=early) for early in range(5)]
    assert waits == [Restart(after=after, early=n) for n, after in enumerate([0.5, 1.0, 2.0, 4.0, 4.0], start=1)]


@given(early=st.integers(0, 4), draw=draws)
def test_chance_only_shortens_a_wait_and_by_no_more_than_the_jitter(early: int, draw: float) -> None:
    longest = verdict(early=early)
    drawn = verdict(early=early, draw=draw)
    assert isinstance(longest, Restart)
    assert isinstance(drawn, Restart)
    assert longest.after / 2 <= drawn.after <= longest.after


@given(early=st.integers(0, 50), draw=draws, ran=st.floats(20, 1e6))
def test_a_long_run_forgets_earlier_crashes(early: int, draw: float, ran: float) -> None:
    after = verdict(early=early, draw=draw, ran=ran)
    assert isinstance(after, Restart)
    assert after.early == 0
    assert after.after <= 0.5


def test_too_many_early_crashes_in_a_row_are_given_up() -> None:
    given_up = verdict(early=5)
    assert isinstance(given_up, GiveUp)
    assert "6 times in a row within 20 s" in given_up.why


@pytest.mark.parametrize(("code", "why"), [(78, "configuration"), (69, "cannot start")])
def test_a_code_that_says_trying_again_is_vain_gives_up_at_once(code: int, why: str) -> None:
    given_up = verdict(code=code, ran=1e6)
    assert isinstance(given_up, GiveUp)
    assert why in given_up.why


def test_how_a_process_ended_is_said_in_words() -> None:
    assert ending(3) == "ended with code 3"
    assert ending(-9) == "was killed by signal 9"
