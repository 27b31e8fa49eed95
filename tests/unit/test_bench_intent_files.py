"""Labelled utterances of others, read for the measurement of the router, and what is said of its answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.intent_files import IntentFileError, Labelled, read
from bench.router_accuracy import Outcome, main, summary


def test_three_shapes_are_read_as_intents_of_the_domain(tmp_path: Path) -> None:
    sgd, clinc, hwu = (tmp_path / name for name in ("a.jsonl", "b.json", "c.tsv"))
    sgd.write_text(json.dumps({"text": "a bed, please", "coarse": "lodging_search"}) + "\n\n", encoding="utf-8")
    clinc.write_text(json.dumps({"val": [["fly me", "book_flight"], ["odd", "oos"]]}), encoding="utf-8")
    hwu.write_text("a pub nearby\trecommendation\tlocations\nwake me\talarm\tset\n", encoding="utf-8")
    assert [each.intent for path in (sgd, clinc, hwu) for each in read(path)] == [
        "lodging_search",
        "flight_search",
        "general_question",
        "travel_recommendation",
        "general_question",
    ]


def test_labels_that_fit_several_intents_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "a table for two", "coarse": "restaurant_booking"}), encoding="utf-8")
    assert read(path) == [Labelled(text="a table for two", label="restaurant_booking", intent="")]


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", "[1, 2]"), ("a.jsonl", "nonsense"), ("a.tsv", "one"), ("a.csv", "")]
)
def test_a_file_of_another_shape_is_refused_by_name(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(IntentFileError, match=name):
        read(path)


def test_accuracy_is_by_intent_and_every_intent_counts_alike() -> None:
    outcome = Outcome()
    for wanted, got in (("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("b", "b")):
        outcome.add(Labelled(text="x", label="l", intent=wanted), got, 0.002)
    figures = summary(outcome)
    assert figures["accuracy"] == {"a": 0.5, "b": 1.0}
    assert figures["mean_accuracy"] == 0.75
    assert figures["route_p50_ms"] == pytest.approx(2.0)
    assert [wrong.intent for wrong, _ in outcome.wrong] == ["a"]


def test_a_file_that_is_not_there_is_said_and_nothing_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "gone.jsonl")]) == 66
    assert "gone.jsonl is not there" in capsys.readouterr().out


def test_a_router_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a pub nearby\trecommendation\tlocations\n", encoding="utf-8")
    assert main([str(path), "--target", "127.0.0.1:1"]) == 69
    assert "does not answer" in capsys.readouterr().out
