"""Counters and buckets of services, and what happened between two looks at them."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from headway.cli import top_metrics
from headway.cli.top_metrics import History, buckets, by_label, increase, parsed, quantile, read, total
from headway.ledger import Attempt, Degradation, Degraded, Stage, Usage
from headway.metrics import BUCKETS, Metrics


def exposed(metrics: Metrics) -> dict[str, float]:
    return parsed(generate_latest(metrics.registry).decode())


def test_what_a_service_exposes_is_read_as_it_was_counted() -> None:
    metrics = Metrics()
    usage = Usage(input_tokens=100, output_tokens=11, cache_read_tokens=80)
    attempt = Attempt(backend="anthropic", model="m", outcome="ok", spent=1.1, ttft=0.1, usage=usage)
    metrics.stages([Stage(name="generator.food", spent=1.2, rung="small", attempts=(attempt, attempt))])
    metrics.degraded(Degraded(stage="retrieval.web", reason=Degradation.OUT_OF_TIME, detail=""))
    values = exposed(metrics)
    assert total(values, "headway_attempts_total", backend="anthropic") == 2
    assert by_label(values, "headway_tokens_total", "kind") == {"input": 200, "output": 22, "cache_read": 160}
    assert total(values, "headway_degradations_total", stage="retrieval.web", reason="out_of_time") == 1
    assert total(values, "headway_attempts") == 0, "a name is not the beginning of a name"


def test_labels_keep_what_was_escaped() -> None:
    metrics = Metrics()
    odd = 'a"b\\c\nd}e,f="g"'
    metrics.stages([Stage(name=odd, spent=0.1, rung="r")])
    names = {
        labels["stage"] for labels, _ in top_metrics.matching(exposed(metrics), "headway_stage_duration_seconds_count")
    }
    assert names == {odd}


def test_a_series_without_labels_has_none() -> None:
    assert read("headway_first_item_seconds_count") == ("headway_first_item_seconds_count", {})


def test_what_is_no_exposition_is_refused() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        parsed("headway_x what is this")
    assert parsed("<html>a page</html>") == {}


@given(st.lists(st.floats(0.0011, 59), min_size=1, max_size=60), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_quantile_lies_in_the_bucket_of_the_observation_at_its_rank(spans: list[float], share: float) -> None:
    metrics = Metrics()
    metrics.stages(Stage(name="s", spent=span) for span in spans)
    found = quantile(buckets(exposed(metrics), "headway_stage_duration_seconds", stage="s"), share)
    rank = max(1, -(-int(share * 100) * len(spans) // 100))
    exact = sorted(spans)[rank - 1]
    above = next(bound for bound in BUCKETS if bound >= exact)
    below = max([0.0, *(bound for bound in BUCKETS if bound < above)])
    assert below <= found <= above + 1e-9


def test_without_observations_there_is_no_quantile() -> None:
    assert isnan(quantile({}, 0.5))
    assert isnan(quantile({0.1: 0, float("inf"): 0}, 0.5))


def test_what_lies_above_the_last_bound_counts_as_that_bound() -> None:
    assert quantile({0.1: 0, 0.2: 0, float("inf"): 5}, 0.5) == 0.2


def test_a_process_that_has_started_again_loses_nothing_that_it_counted_since() -> None:
    assert increase({"a": 10, "b": 3}, {"a": 4, "b": 5, "c": 1}) == {"a": 4, "b": 2, "c": 1}


def test_a_window_reaches_back_as_far_as_there_were_looks() -> None:
    history = History(longest=100)
    assert history.gained(10) == (0.0, {})
    for at in range(6):
        history.add(at * 10.0, {"a": at * 7.0})
    assert history.gained(20) == (20.0, {"a": 14.0})
    assert history.gained(25) == (20.0, {"a": 14.0})
    assert history.gained(1000) == (50.0, {"a": 35.0})
    assert history.last_step() == {"a": 7.0}


def test_looks_that_are_too_old_are_forgotten() -> None:
    history = History(longest=30)
    for at in range(100):
        history.add(at * 10.0, {"a": float(at)})
    span, gained = history.gained()
    assert 30 <= span <= 40
    assert gained["a"] == span / 10
