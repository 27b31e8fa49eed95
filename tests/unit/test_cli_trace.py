"""The waterfall of an answer: bars over time that fit the terminal."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from headway.cli.terminal import console
from headway.cli.trace import ASCII, LEAST_BAR, LINES, Row, Traced, drawn, reasons, rows_of, show
from headway.ledger import Attempt, Stage
from headway.messages import duration, stage_to_message
from headway.v1 import ledger_pb2, recommendation_pb2

SPANS = st.floats(0, 60)
NAMES = st.text("generator.음식점과카페ー東京 abc", min_size=1, max_size=60)
ROWS = st.builds(Row, name=NAMES, start=SPANS, spent=SPANS, waited=SPANS, note=st.sampled_from(["", "ok", "small"]))


def stages(*listed: Stage) -> list[ledger_pb2.Stage]:
    return [stage_to_message(stage) for stage in listed]


def attempt(outcome: str, *, spent: float, ttft: float | None = None, after: float = 0.0) -> Attempt:
    return Attempt(backend="anthropic", model="m1", outcome=outcome, spent=spent, ttft=ttft, started_after=after)


def lines(rows: list[Row], *, total: float, columns: int = 80, points: tuple[tuple[str, float], ...] = ()) -> list[str]:
    return [line.plain for line in drawn(rows, points, total=total, columns=columns, marks=LINES)]


@given(
    rows=st.lists(ROWS, max_size=12),
    points=st.lists(st.tuples(st.sampled_from(["first token", "first item"]), SPANS), max_size=2),
    columns=st.integers(70, 200),
)
def test_no_line_is_wider_than_the_terminal(rows: list[Row], points: list[tuple[str, float]], columns: int) -> None:
    total = max([row.start + row.spent for row in rows] + [at for _, at in points] + [0.0])
    for line in drawn(rows, points, total=total, columns=columns, marks=LINES):
        assert cell_len(line.plain.rstrip()) <= columns


@given(st.lists(ROWS, min_size=1, max_size=12))
def test_every_bar_can_be_seen_and_what_begins_later_is_not_drawn_earlier(rows: list[Row]) -> None:
    total = max(row.start + row.spent for row in rows)
    drawings = lines(rows, total=total)[1:]
    # Bars stand at the same cell whatever the width of the characters in the name before them.
    firsts = [cell_len(line[: re.search("[─━]", line).start()]) for line in drawings]  # type: ignore[union-attr]
    in_order = [first for _, first in sorted(zip([row.start for row in rows], firsts, strict=True))]
    assert in_order == sorted(in_order)


def test_waiting_is_drawn_thin_and_what_follows_thick() -> None:
    [_, line] = lines([Row(name="m1", start=0.0, spent=1.0, waited=0.5, attempt=True)], total=1.0)
    bar = line.strip().split()[1]
    assert abs(bar.count(LINES.waiting) - bar.count(LINES.working)) <= 1
    assert bar == LINES.waiting * bar.count(LINES.waiting) + LINES.working * bar.count(LINES.working)


def test_a_stage_never_waits_whatever_its_length() -> None:
    [_, line] = lines([Row(name="floor.food", start=0.99, spent=0.0)], total=1.0)
    assert LINES.working in line
    assert LINES.waiting not in line


def test_attempts_stand_below_their_stage_where_they_began() -> None:
    second = attempt("ok", spent=0.5, ttft=0.2, after=0.1)
    ledger = stages(
        Stage(name="generator.food", spent=0.6, started_after=0.3, attempts=(attempt("overloaded", spent=0.1), second)),
        Stage(name="router", spent=0.01),
    )
    rows = rows_of(ledger)
    assert [row.name for row in rows] == ["router", "generator.food", "m1", "m1"]
    assert [row.failed for row in rows] == [False, False, True, False]
    assert rows[2].waited == rows[2].spent
    assert rows[3].start == pytest.approx(0.4)
    assert rows[3].waited == pytest.approx(0.2)


def test_a_terminal_that_is_narrow_keeps_the_bars() -> None:
    rows = [Row(name="generator.lodging", start=0, spent=1.0, note="unreachable")]
    for columns in (40, 50, 60):
        [_, line] = lines(rows, total=1.0, columns=columns)
        assert line.count(LINES.working) >= LEAST_BAR


def test_the_ruler_has_round_numbers_in_milliseconds() -> None:
    [ruler] = lines([], total=1.6)
    assert ruler.split() == ["╷0", "╷200", "╷400", "╷600", "╷800", "╷1000", "╷1200", "╷1400", "ms"]


def test_an_answer_that_took_no_time_is_drawn_all_the_same() -> None:
    assert lines([Row(name="router", start=0, spent=0)], total=0.0)[0].split() == ["╷0", "ms"]


def test_each_reason_is_said_once_for_all_stages_that_it_holds_for() -> None:
    simple, late = "the query is simple", "late"
    ledger = stages(
        Stage(name="generator.food", spent=1, reason=simple),
        Stage(name="generator.sights", spent=1, reason=simple),
        Stage(name="generator.food", spent=1, reason=simple),
        Stage(name="retrieval.web", spent=1, reason=late),
        Stage(name="router", spent=1),
    )
    assert reasons(ledger) == {simple: ["generator.food", "generator.sights"], late: ["retrieval.web"]}


def summary() -> recommendation_pb2.Summary:
    ledger = stages(Stage(name="router", spent=0.01, reason="한글 이유"))
    return recommendation_pb2.Summary(total=duration(1), ttf_item=duration(0.4), ledger=ledger)


def test_where_lines_cannot_be_shown_signs_of_ascii_are() -> None:
    raw = io.BytesIO()
    to = io.TextIOWrapper(raw, encoding="ascii", errors="replace")
    show(summary(), console(to, width=80))
    to.flush()
    text = raw.getvalue().decode("ascii")
    assert ASCII.working in text
    assert f"{ASCII.point} first item 400 ms" in text


def test_the_waterfall_follows_the_summary_and_names_the_command_that_shows_it_again() -> None:
    to, seen = io.StringIO(), []
    traced = Traced(
        lambda event, after: seen.append(event.WhichOneof("event")), console(to, width=80), "headway explain"
    )
    plan = recommendation_pb2.Plan(request_id="abc")
    traced(recommendation_pb2.RecommendResponse(plan=plan), 0.1)
    assert to.getvalue() == ""
    traced(recommendation_pb2.RecommendResponse(summary=summary()), 1.0)
    assert seen == ["plan", "summary"]
    assert "router: 한글 이유" in to.getvalue()
    assert to.getvalue().splitlines()[-1] == "headway explain abc"
