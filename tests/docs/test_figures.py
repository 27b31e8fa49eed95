"""The figures of the README are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.readme import figures, rewritten


def test_the_readme_shows_the_committed_results(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    assert rewritten(text) == text, "run: python -m bench.readme"


def test_a_result_that_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bench.readme.RESULTS", tmp_path)
    assert figures().count("not measured yet") == 3
    assert "make bench-mesh" in figures()


def test_lost_marks_are_an_error() -> None:
    with pytest.raises(ValueError, match="marks"):
        rewritten("no marks here")
