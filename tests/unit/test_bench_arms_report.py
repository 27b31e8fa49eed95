from __future__ import annotations

from io import StringIO
from itertools import pairwise

import orjson
import pytest
from rich.console import Console

from bench import plots, report, report_text
from bench.arms.measured import Outcome, Stopwatch
from bench.arms.techniques import ALONE, STEPS, names
from headway.ledger import Usage
from headway.testing import ManualClock


def answers(first: float, total: float, *, n: int = 9, error: str = "") -> list[Outcome]:
    return [
        Outcome(
            ttft=first / 2,
            ttf_item=first * (1 + each / 1000),
            total=total,
            items=3,
            usage=Usage(input_tokens=1000, output_tokens=100, cost_usd=0.01),
            tiers=("small",),
            marks={"web": 0.8, "internal": 0.01},
            error=error,
        )
        for each in range(n)
    ]


@pytest.fixture
def samples() -> dict[str, list[Outcome]]:
    made = {name: answers(6.0 - 0.5 * place, 7.0) for place, name in enumerate(names(with_alone=False))}
    return made | {"naive": answers(7.0, 7.0), "mesh": answers(0.5, 1.0), "floor": answers(0.48, 0.6)}


def test_every_arm_has_the_same_keys(samples):
    found = report.figures(samples, seed=1)
    for arm in found["arms"].values():
        for measure in ("ttft_ms", "ttf_item_ms", "total_ms", "input_tokens", "output_tokens", "cost_usd"):
            assert set(arm[measure]) == {"p50", "p95", "p99"}
        assert arm["n"] == 9
    assert found["arms"]["mesh"]["ttf_item_ms"]["p50"] == pytest.approx(502.0)
    assert list(found["arms"]["mesh"]["marks_ms_p50"]) == ["internal", "web"]
    assert orjson.loads(orjson.dumps(found)) == found


def test_ratios_are_those_of_the_medians_and_lie_in_their_interval(samples):
    found = report.figures(samples, seed=1)
    assert found["ratios"]["naive_over_mesh_ttf_item_p50"] == pytest.approx(14.0, abs=0.01)
    assert found["ratios"]["naive_over_mesh_total_p50"] == 7.0
    low, high = found["ratios_ci95"]["mesh_over_floor_ttf_item_p50"]
    assert low <= found["ratios"]["mesh_over_floor_ttf_item_p50"] <= high


def test_a_failed_answer_is_counted_and_left_out(samples):
    samples["mesh"] = [*answers(0.5, 1.0), *answers(9.0, 9.0, n=1, error="UNAVAILABLE")]
    arm = report.figures(samples, seed=1)["arms"]["mesh"]
    assert (arm["n"], arm["failed"], arm["failures"]) == (9, 1, {"UNAVAILABLE": 1})
    assert arm["total_ms"]["p99"] == 1000.0


def test_an_arm_without_an_answer_does_not_hide_the_others(samples):
    samples["floor"] = answers(1.0, 1.0, error="gone")
    found = report.figures(samples, seed=1)
    assert found["arms"]["floor"]["n"] == 0
    assert "mesh_over_floor_ttf_item_p50" not in found["ratios"]
    (unmeasured,) = [aim for aim in found["aims"] if aim["figure"].endswith("mesh_over_floor_ttf_item_p50")]
    assert unmeasured["met"] is None


def test_steps_name_what_each_saved_over_the_one_before(samples):
    steps = report.figures(samples, seed=1)["steps"]
    assert [step["step"] for step in steps] == [*STEPS, "mesh"]
    for before, after in pairwise(steps):
        assert after["over"] == before["step"]
        assert after["ttf_item_ms"]["before"] == before["ttf_item_ms"]["after"]


def test_a_missed_aim_is_said(samples):
    samples["naive"] = answers(1.0, 9.0)
    found = report.figures(samples, seed=1)
    assert [aim["met"] for aim in found["aims"]] == [False, True, False, True]
    text = StringIO()
    report_text.show(found, Console(file=text, width=80))
    assert text.getvalue().count("MISSED") == 2
    assert "naive takes 5 to 8 s: 9000" in text.getvalue()


def with_alone(samples, values: dict[str, float]):
    return samples | {ALONE + step: answers(values.get(step, 7.0), 7.0) for step in STEPS}


def test_techniques_that_multiply_are_found_to(samples):
    # Seven seconds become one and three quarters: two techniques that halve, alone as together.
    samples["tiering"] = answers(1.75, 2.0)
    found = report.figures(with_alone(samples, {"local": 3.5, "divide": 3.5}), seed=1)["multiplication"]
    assert found["product_of_alone"] == pytest.approx(4.0, abs=0.05)
    assert found["says"].startswith("they multiply")


def test_techniques_that_save_the_same_time_twice_are_found_out(samples):
    samples["tiering"] = answers(3.0, 3.0)
    found = report.figures(with_alone(samples, {"local": 3.5, "divide": 3.5}), seed=1)["multiplication"]
    assert found["says"].startswith("they come to less than their product")


def test_without_the_arms_for_it_nothing_is_said_about_multiplying(samples):
    found = report.figures(samples, seed=1)["multiplication"]
    assert found["says"].startswith("not measured")
    assert found["ttf_item_ratio"] > 1


def test_the_plots_can_be_drawn_also_with_some_arms_only(samples, tmp_path):
    some = {name: samples[name] for name in ("naive", "divide", "mesh")}
    for number, each in enumerate((samples, some)):
        svg, png = tmp_path / f"{number}.svg", tmp_path / f"{number}.png"
        first_items = {name: [one.ttf_item * 1000 for one in outcomes] for name, outcomes in each.items()}
        plots.draw(report.figures(each, seed=1), first_items, svg=svg, png=png)
        assert svg.read_text(encoding="utf-8").count("<path") > 20
        assert png.read_bytes().startswith(b"\x89PNG")


def test_a_stopwatch_keeps_the_first_of_everything():
    clock = ManualClock()
    watch = Stopwatch(clock)
    for tier in ("small", "large", "small"):
        clock.advance(1.0)
        watch.token()
        watch.item(tier)
        watch.mark("web")
    watch.spend(Usage(input_tokens=1))
    watch.spend(Usage(input_tokens=2))
    outcome = watch.outcome(wanted=3)
    assert (outcome.ttft, outcome.ttf_item, outcome.total, outcome.marks["web"]) == (1.0, 1.0, 3.0, 1.0)
    assert (outcome.tiers, outcome.usage.input_tokens, outcome.error) == (("small", "large"), 3, "")


def test_an_answer_with_too_few_items_is_not_whole():
    assert Stopwatch(ManualClock()).outcome(wanted=3).error == "0 of 3 items"
