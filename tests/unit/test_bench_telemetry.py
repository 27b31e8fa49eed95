"""The figures of what tracing costs, from blocks whose cost is known."""

from __future__ import annotations

import pytest

from bench.telemetry import Block, Found, Turn, Work, figures, interval


def turn(off: float, left_out: float, on: float) -> Turn:
    costs = {"off": off, "left_out": left_out, "on": on}
    return {
        arm: Block(used={"router": cost / 4, "generator": cost * 3 / 4}, work=Work()) for arm, cost in costs.items()
    }


def test_the_median_turn_says_what_tracing_costs() -> None:
    found = Found(turns=[turn(20, 20.1, 20.4), turn(40, 40.2, 40.8), turn(20, 20, 30)], traced=24, spans=960)
    result = figures(found)
    assert result["extra_percent"] == pytest.approx(2.0)
    assert result["recording_percent"] == pytest.approx(1.49)
    assert result["cpu_ms_per_request"] == {"off": 20, "left_out": 20.1, "on": 30}
    assert result["cpu_ms_per_request_by_service"]["router"]["off"] == 5
    assert result["spans_per_request"] == 40


def test_the_interval_holds_the_median_and_narrows_with_more_turns() -> None:
    few, many = [1.0, 2.0, 3.0, 4.0, 5.0], [float(number % 5 + 1) for number in range(200)]
    for values in (few, many):
        low, high = interval(values)
        assert low <= 3.0 <= high
    assert interval(many)[1] - interval(many)[0] < interval(few)[1] - interval(few)[0]
