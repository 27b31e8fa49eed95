"""What is said of a mesh, from what its services count."""

from __future__ import annotations

from math import isnan, nan

import pytest
from prometheus_client import generate_latest

from headway.cli.top_metrics import Values, parsed
from headway.cli.top_view import ANSWERS, Watch
from headway.ledger import Attempt, Degradation, Degraded, Stage, Usage
from headway.metrics import Metrics

SERVICES = ("router", "orchestrator")


def said(metrics: Metrics) -> Values:
    return parsed(generate_latest(metrics.registry).decode())


@pytest.fixture
def metrics() -> dict[str, Metrics]:
    return {name: Metrics() for name in SERVICES}


@pytest.fixture
def watch() -> Watch:
    return Watch(SERVICES)


def look(watch: Watch, at: float, metrics: dict[str, Metrics], **instead: str) -> None:
    watch.look(at, {name: instead.get(name) or said(each) for name, each in metrics.items()})


def test_counts_are_those_of_the_window_and_of_all_services(watch: Watch, metrics: dict[str, Metrics]) -> None:
    for name in SERVICES:
        metrics[name].stages([Stage(name="router", spent=0.01)] * 5)
    look(watch, 0.0, metrics)
    for name in SERVICES:
        metrics[name].stages([Stage(name="router", spent=0.01)] * 2)
    look(watch, 10.0, metrics)
    [row] = watch.view(30.0).stages
    assert (row.name, row.calls) == ("router", 4)
    assert watch.view(30.0).span == 10.0
    [row] = watch.view(None).stages
    assert row.calls == 14
    assert watch.view(None).span is None


def test_stages_stand_in_the_order_in_which_a_request_meets_them(watch: Watch, metrics: dict[str, Metrics]) -> None:
    names = ("floor.food", "zzz", "generator.food", "retrieval.web", "router", "router.embed")
    metrics["router"].stages([Stage(name=name, spent=0.1) for name in names])
    look(watch, 0.0, metrics)
    assert [row.name for row in watch.view(None).stages] == [
        "router",
        "router.embed",
        "retrieval.web",
        "generator.food",
        "floor.food",
        "zzz",
    ]


def test_sparks_hold_the_median_of_each_look_and_a_gap_where_nothing_ended(
    watch: Watch, metrics: dict[str, Metrics]
) -> None:
    for at, spans in enumerate([[], [0.1], [], [0.4, 0.4, 0.001]]):
        metrics["router"].stages([Stage(name="router", spent=span) for span in spans])
        look(watch, float(at), metrics)
    [row] = watch.view(60.0).stages
    assert [isnan(spark) for spark in row.sparks] == [False, True, False]
    assert row.sparks[2] > 2 * row.sparks[0]


def test_a_provider_is_told_by_its_attempts_and_tokens(watch: Watch, metrics: dict[str, Metrics]) -> None:
    usage = Usage(input_tokens=100, output_tokens=11, cache_read_tokens=25, cost_usd=0.5)
    well = Attempt(backend="openai", model="m", outcome="ok", spent=0.3, ttft=0.2, usage=usage)
    outcomes = ("stopped", "rate_limited", "rate_limited", "timeout", "cancelled")
    others = [Attempt(backend="openai", model="m", outcome=outcome, spent=0.1) for outcome in outcomes]
    metrics["router"].stages([Stage(name="s", spent=1, attempts=(well, *others))])
    look(watch, 0.0, metrics)
    [row] = watch.view(None).providers
    assert (row.backend, row.model, row.well) == ("openai", "m", 2)
    assert row.failed == {"rate_limited": 2, "timeout": 1}, "a caller that left is no failure of the provider"
    assert row.cache_read == pytest.approx(0.25)
    assert row.cost == pytest.approx(0.5)
    assert 0.15 <= row.ttft_p50 <= 0.25
    assert row.tpot_p50 == pytest.approx(0.01, abs=0.002)


def test_deadlines_first_items_and_floor_are_those_of_answers(watch: Watch, metrics: dict[str, Metrics]) -> None:
    here = metrics["orchestrator"]
    for left in (0.5, 0.5, 0.5, -0.1):
        here.ended(ANSWERS, code="OK", spent=1.0, left=left, hedge=False)
    here.ended("headway.v1.RouterService/Route", code="OK", spent=1.0, left=-1.0, hedge=False)
    here.answered(finish="COMPLETE", total=1.0, first_item=0.31)
    for tier in ("SMALL", "SMALL", "SMALL", "EXTRACTIVE"):
        here.item("food", tier)
    look(watch, 0.0, metrics)
    found = watch.view(None)
    assert (found.answers, found.hit, found.floor) == (4, 0.75, 0.25)
    assert 0.3 <= found.first_item[0] <= 0.35


def test_what_was_given_up_most_often_comes_first(watch: Watch, metrics: dict[str, Metrics]) -> None:
    for stage, reason, times in [
        ("retrieval.web", Degradation.OUT_OF_TIME, 2),
        ("generator.food", Degradation.RATE_LIMITED, 3),
    ]:
        for _ in range(times):
            metrics["router"].degraded(Degraded(stage=stage, reason=reason, detail=""))
    look(watch, 0.0, metrics)
    assert watch.view(None).given_up == [("generator.food", "rate_limited", 3), ("retrieval.web", "out_of_time", 2)]


def test_a_service_that_is_gone_is_named_and_what_it_counted_is_not_shown(
    watch: Watch, metrics: dict[str, Metrics]
) -> None:
    metrics["router"].stages([Stage(name="router", spent=0.1)])
    look(watch, 0.0, metrics)
    look(watch, 1.0, metrics, router="nothing answers")
    found = watch.view(60.0)
    assert found.unreachable == {"router": "nothing answers"}
    assert found.reached == ["orchestrator"]
    assert set(found.in_flight) == {"orchestrator"}
    look(watch, 2.0, metrics)
    assert watch.view(60.0).unreachable == {}


def test_before_the_first_look_nothing_is_known(watch: Watch) -> None:
    found = watch.view(30.0)
    assert set(found.unreachable) == set(SERVICES)
    assert found.first_item == (pytest.approx(nan, nan_ok=True),) * 2


def test_in_flight_and_queues_are_those_of_now(watch: Watch, metrics: dict[str, Metrics]) -> None:
    metrics["router"].watch_queue("encoder", lambda: 7)
    with metrics["router"].call("a/B"), metrics["router"].call("a/B"):
        look(watch, 0.0, metrics)
    found = watch.view(30.0)
    assert found.in_flight == {"router": 2, "orchestrator": 0}
    assert found.queues == {"encoder": 7}
