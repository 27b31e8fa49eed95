"""When calls of a load run are due."""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.load_arrivals import TraceError, bursts, constant, poisson, read_trace, trace

RATES = st.floats(0.01, 1000)


@given(RATES, st.integers())
def test_arrivals_never_go_back(rate: float, seed: int) -> None:
    for arrivals in (poisson(rate, Random(seed)), constant(rate), bursts(rate, Random(seed))):
        assert all(0 <= one <= other for one, other in pairwise(islice(arrivals, 50)))


@given(RATES, st.integers())
def test_the_same_seed_gives_the_same_arrivals(rate: float, seed: int) -> None:
    for kind in (poisson, bursts):
        assert list(islice(kind(rate, Random(seed)), 40)) == list(islice(kind(rate, Random(seed)), 40))


@pytest.mark.parametrize("rate", [0.5, 20.0])
def test_random_arrivals_come_at_the_rate_on_average(rate: float) -> None:
    for kind in (poisson, bursts):
        *_, last = islice(kind(rate, Random(7)), 20_000)
        assert 20_000 / last == pytest.approx(rate, rel=0.06)


def test_gaps_of_poisson_arrivals_vary_as_much_as_they_are_long() -> None:
    gaps = [other - one for one, other in pairwise(islice(poisson(10.0, Random(3)), 20_000))]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert deviation == pytest.approx(mean, rel=0.05)


def test_a_burst_comes_at_one_instant() -> None:
    arrivals = list(islice(bursts(5.0, Random(1), size=4), 12))
    assert [arrivals.count(instant) for instant in sorted(set(arrivals))] == [4, 4, 4]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    for arrivals in (poisson(rate, Random(1)), constant(rate), bursts(rate, Random(1)), trace([0.0, 1.0], rate=rate)):
        with pytest.raises(ValueError, match="above zero"):
            next(arrivals)


def written(folder: Path, text: str) -> Path:
    file = folder / "trace.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_trace_with_dates_is_read_from_its_time_column(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "tokens,TIMESTAMP\n9,2023-11-16 18:15:46.6805900\n4,2023-11-16 18:15:47.1805900\n\n5,2023-11-16 18:16:46.68\n",
    )
    assert read_trace(file) == pytest.approx([0.0, 0.5, 60.0], abs=0.001)


def test_a_trace_with_seconds_may_be_out_of_order_and_name_no_column(tmp_path: Path) -> None:
    assert read_trace(written(tmp_path, "when,what\n107.5,a\n100,b\n101,c\n")) == [0.0, 1.0, 7.5]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no two arrivals"),
        ("time\n", "no two arrivals"),
        ("time\n3\n3\n", "no two arrivals"),
        ("time\n1\nnoon\n", "line 3: 'noon'"),
        ("a,time\n1\n", "line 2: ''"),
        ("time\n1\nnan\n", "line 3: 'nan'"),
        ("time\n1\ninf\n", "line 3: 'inf'"),
        ("time\n1\n\x00\x01\n", "line 3"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_by_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(TraceError, match=complaint):
        read_trace(written(tmp_path, text))


def test_a_trace_is_replayed_as_it_was_or_stretched_to_a_rate() -> None:
    instants = [0.0, 1.0, 4.0]
    assert list(trace(instants)) == instants
    assert list(trace(instants, rate=1.0)) == [0.0, 0.5, 2.0]
