"""What is made of the measurements of a load run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hdrh.log import HistogramLogReader
from rich.console import Console

from headway.cli.bench_table import show
from headway.load import Answer, Recording, histogram, record
from headway.load_report import quantiles, report, write_hdr


def recorded(calls: int = 200) -> Recording:
    recording = Recording()
    for number in range(1, calls + 1):
        recording.sent += 1
        seconds = number / 1000
        answer = Answer(first_item_at=seconds / 2, items=2, finish="max_items", tiers={"small": 2})
        recording.add(answer, due=0.0, ended=seconds, deadline=0.15)
    recording.span = 20.0
    return recording


def test_quantiles_are_right_to_three_digits() -> None:
    found = quantiles(recorded().total)
    assert found is not None
    assert (found.n, found.p50, found.p90, found.p95, found.p99, found.max) == pytest.approx(
        (200, 100, 180, 190, 198, 200), rel=0.001
    )


def test_a_span_out_of_range_counts_as_the_nearest_that_fits() -> None:
    taken = histogram()
    record(taken, -1.0)
    record(taken, 1e9)
    found = quantiles(taken)
    assert found is not None
    assert (found.n, found.p50) == (2, 0.001)
    assert found.max == pytest.approx(3_600_000, rel=0.001)


def test_no_sample_gives_no_figures() -> None:
    assert quantiles(histogram()) is None


def test_a_report_is_json_without_loss() -> None:
    figures = report(recorded())
    again = json.loads(json.dumps(figures.as_json()))
    assert again["first_item_ms"]["p50"] == figures.first_item_ms.p50  # type: ignore[union-attr]
    assert (again["n"], again["rate_sent"], again["inside_deadline"]) == (200, 10.0, 0.75)


def test_an_hdr_log_is_read_by_the_reference_reader(tmp_path: Path) -> None:
    recording = recorded()
    (file,) = write_hdr(recording, tmp_path / "run.hlog")
    reader = HistogramLogReader(str(file), histogram())
    read = [reader.get_next_interval_histogram() for _ in range(2)]
    reader.close()
    assert [each.get_tag() for each in read] == ["first_item", "total"]
    assert [each.get_total_count() for each in read] == [200, 200]
    assert read[1].get_value_at_percentile(99) == recording.total.get_value_at_percentile(99)


def test_percentile_text_is_written_for_both_latencies_in_milliseconds(tmp_path: Path) -> None:
    files = write_hdr(recorded(), tmp_path / "run.hgrm")
    assert [file.name for file in files] == ["run.first_item.hgrm", "run.total.hgrm"]
    text = files[1].read_text(encoding="ascii")
    # 1 to 200 ms in equal steps: mean 100.5, deviation 57.7.
    assert re.search(r"#\[Mean +=\s+100\.\d+, StdDeviation +=\s+57\.7\d+\]", text)
    assert re.search(r"#\[Max +=\s+(199\.\d+|200\.\d+), TotalCount +=\s+200", text)


def test_the_table_shows_quantiles_counts_and_what_went_wrong() -> None:
    recording = recorded()
    recording.sent += 1
    recording.add(Answer(error="OVERLOADED"), due=0.0, ended=1.0, deadline=None)
    console = Console(width=80, markup=False, highlight=False)
    with console.capture() as capture:
        show(report(recording), console)
    text = capture.get()
    assert re.search(r"whole answer +200 +100\.\d +180\.\d +190\.\d +198\.\d +200\.\d", text)
    assert re.search(r"sent late by +0", text)
    assert "failed: OVERLOADED 1" in text
    assert "written by: small 400" in text
