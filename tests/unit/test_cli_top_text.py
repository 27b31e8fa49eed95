"""The picture of a mesh: what it says, and that it fits."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from headway.cli.top_text import LEAST_COLUMNS, lines
from headway.cli.top_view import ProviderRow, StageRow, View

NAMES = st.text("abc.음식점とカ_[/", min_size=1, max_size=40)
SPANS = st.one_of(st.just(nan), st.floats(0, 100))
STAGES = st.builds(
    StageRow,
    name=NAMES,
    calls=st.integers(0, 10**7),
    p50=SPANS,
    p95=SPANS,
    p99=SPANS,
    sparks=st.lists(SPANS, max_size=40),
)
PROVIDERS = st.builds(
    ProviderRow,
    backend=NAMES,
    model=NAMES,
    well=st.integers(0, 10**6),
    failed=st.dictionaries(NAMES, st.integers(1, 10**6), max_size=5),
    ttft_p50=SPANS,
    ttft_p95=SPANS,
    tpot_p50=st.one_of(st.just(nan), st.floats(0, 1)),
    cache_read=st.one_of(st.just(nan), st.floats(0, 1)),
    cost=st.floats(0, 9_000),
)
VIEWS = st.builds(
    View,
    span=st.one_of(st.none(), st.floats(0, 600)),
    reached=st.just(["router", "retrieval"]),
    unreachable=st.dictionaries(st.sampled_from(["generator", "orchestrator"]), NAMES, max_size=2),
    in_flight=st.dictionaries(st.sampled_from(["router", "retrieval"]), st.integers(0, 10**5)),
    queues=st.dictionaries(NAMES, st.integers(0, 10**4), max_size=2),
    answers=st.integers(0, 10**7),
    first_item=st.tuples(SPANS, SPANS),
    hit=st.one_of(st.just(nan), st.floats(0, 1)),
    floor=st.one_of(st.just(nan), st.floats(0, 1)),
    stages=st.lists(STAGES, max_size=20),
    providers=st.lists(PROVIDERS, max_size=6),
    given_up=st.lists(st.tuples(NAMES, NAMES, st.integers(1, 10**6)), max_size=6),
)


def view(**different: object) -> View:
    usual: dict[str, object] = {
        "span": 30.0, "reached": ["router"], "unreachable": {}, "in_flight": {"router": 1}, "queues": {}, "answers": 60
    }  # fmt: skip
    return View(**(usual | different))  # type: ignore[arg-type]


def plain(drawn: list[Text]) -> str:
    return "\n".join(line.plain for line in drawn)


def stage(name: str, **different: object) -> StageRow:
    usual: dict[str, object] = {"name": name, "calls": 10, "p50": 0.012, "p95": 0.5, "p99": 1.25}
    return StageRow(**(usual | different))  # type: ignore[arg-type]


@given(VIEWS, st.integers(80, 200))
def test_no_line_is_wider_than_the_terminal(drawn: View, columns: int) -> None:
    for line in lines(drawn, "headway top", columns=columns):
        assert "\n" not in line.plain
        if not line.plain.startswith(("generator cannot", "orchestrator cannot")):
            assert cell_len(line.plain.rstrip()) <= columns


@given(VIEWS, st.integers(1, 60))
def test_no_picture_is_higher_than_the_terminal(drawn: View, rows: int) -> None:
    assert len(lines(drawn, "headway top", columns=80, rows=rows)) <= rows


@given(VIEWS)
def test_a_picture_without_a_limit_leaves_nothing_out(drawn: View) -> None:
    wanted = len(drawn.stages) + len(drawn.providers) + len(drawn.given_up) + len(drawn.unreachable)
    assert len(lines(drawn, "headway top", columns=LEAST_COLUMNS)) >= wanted


def test_numbers_are_in_milliseconds_under_their_headings() -> None:
    text = plain(lines(view(stages=[stage("generator.food")]), "t", columns=80))
    row = next(line for line in text.splitlines() if line.startswith("generator.food"))
    assert row.split() == ["generator.food", "10", "12", "500", "1250"]


def test_when_rows_are_few_parts_of_stages_go_first_and_providers_and_losses_stay() -> None:
    stages = [stage(name) for name in ("router", "router.embed", "router.slots", "retrieval.web", "generator.food")]
    provider = ProviderRow(backend="openai", model="m", well=0, failed={"rate_limited": 3})
    crowded = view(stages=stages, providers=[provider], given_up=[("retrieval.web", "out_of_time", 4)])
    assert "router.embed" in plain(lines(crowded, "t", columns=80, rows=40))
    few = plain(lines(crowded, "t", columns=80, rows=15))
    assert "router.embed" not in few
    for kept in ("router", "retrieval.web", "generator.food", "openai m", "failed: 3 rate limited", "4  out of time"):
        assert kept in few


def test_a_service_that_cannot_be_reached_is_named() -> None:
    text = plain(lines(view(unreachable={"generator": "nothing answers at 127.0.0.1:1"}), "t", columns=80))
    assert "1 of 2 services" in text
    assert "generator cannot be reached: nothing answers at 127.0.0.1:1" in text


def test_a_share_that_is_not_all_does_not_look_like_all() -> None:
    assert "in time 99.9 %" in plain(lines(view(hit=0.99999), "t", columns=80))
    assert "in time 100 %" in plain(lines(view(hit=1.0), "t", columns=80))


@pytest.mark.parametrize(
    ("sparks", "signs"),
    [((), ""), ((nan, nan), ""), ((1.0, nan, 1.0), "▅ ▅"), ((0.0, 2.0, 4.0), "▁▄▇"), ((0.0, 0.0), "")],
)
def test_sparks_show_heights_from_zero_and_gaps_where_nothing_ended(sparks: tuple[float, ...], signs: str) -> None:
    text = plain(lines(view(stages=[stage("s", sparks=sparks)]), "t", columns=80))
    row = next(line for line in text.splitlines() if line.startswith("s "))
    assert row[54:].strip() == signs


def test_text_of_others_has_no_power_over_the_terminal() -> None:
    odd = view(stages=[stage("a\x1b[31m[red]b")], given_up=[("s\x07", "r", 1)])
    text = plain(lines(odd, "t", columns=80))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]" in text
