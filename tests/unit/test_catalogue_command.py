"""``headway catalogue``: what it says and with which code it ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from headway.catalogue.index import Vectors
from headway.catalogue.index_file import load
from headway.cli.catalogue import app
from headway.embedding import EncoderError


class OneVector:
    """An encoder for which all texts are alike."""

    model = "same@1"
    dimensions = 4

    def encode(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.fixture
def state(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder; the domain is the one that ships."""
    monkeypatch.setattr("headway.embedding.load", lambda *_: OneVector())
    monkeypatch.setenv("HEADWAY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HEADWAY_DOMAIN", str(root / "domains" / "travel"))
    return tmp_path / "state"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def rows(*names: str, **more: Any) -> str:
    return "\n".join(json.dumps({"name": name, "kind": "food", "city": "jeju", **more}) for name in names)


def written(tmp_path: Path, text: str, name: str = "places.jsonl") -> Path:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_that_is_read_ends_with_zero_and_is_in_the_index(state: Path, tmp_path: Path) -> None:
    result = run("import", written(tmp_path, rows("Moon Cafe", "Sun Cafe")))
    assert result.exit_code == 0, result.output
    assert "2 records read, 0 left out" in result.output
    index = load(state / "catalogue.index")
    assert [record.names["en"] for record in index.imported] == ["Moon Cafe", "Sun Cafe"]
    assert index.own > 300


def test_a_second_import_adds_to_the_first(state: Path, tmp_path: Path) -> None:
    run("import", written(tmp_path, rows("A")), "--only")
    run("import", written(tmp_path, rows("B")))
    assert [record.names["en"] for record in load(state / "catalogue.index").records] == ["A", "B"]


def test_a_file_that_is_read_in_part_ends_with_three_and_says_what_is_missing(state: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    file = written(tmp_path, rows("A") + "\nnonsense\n" + rows("B", lat=500, lon=1))
    result = run("import", file, "--only", "--report", report)
    assert result.exit_code == 3
    assert "record 2: is not valid JSON" in result.output
    assert "record 3: coordinates" in result.output
    remarks = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert [(each["record"], each["outcome"]) for each in remarks] == [(2, "left out"), (3, "mended")]


@pytest.mark.parametrize("text", ["", "nonsense", '{"fields":[],"records":['])
def test_a_file_without_readable_records_ends_with_one_and_changes_nothing(
    state: Path, tmp_path: Path, text: str
) -> None:
    result = run("import", written(tmp_path, text))
    assert result.exit_code == 1
    assert not (state / "catalogue.index").exists()
    assert run("import", tmp_path / "not-there.csv").exit_code == 1


def test_many_remarks_are_counted_and_not_all_shown(state: Path, tmp_path: Path) -> None:
    result = run("import", written(tmp_path, "nonsense\n" * 100))
    assert result.output.count("is not valid JSON") == 20
    assert "and 80 more; --report FILE writes all of them" in result.output


def test_a_check_leaves_the_index_alone(state: Path, tmp_path: Path) -> None:
    result = run("import", written(tmp_path, rows("A")), "--check")
    assert result.exit_code == 0
    assert not (state / "catalogue.index").exists()


def test_constants_of_the_command_line_win(state: Path, tmp_path: Path) -> None:
    run(
        "import", written(tmp_path, rows("A")), "--only", "--city", "서울", "--kind", "lodging", "--source", "city hall"
    )
    record = load(state / "catalogue.index").records[0]
    assert (record.city, record.kind, record.source, record.country) == ("seoul", "lodging", "city hall", "KR")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--format", "xlsx"], "must be one of auto, jsonl"), (["--mapping", "no-such"], "Mappings that ship")],
)
def test_a_mistyped_option_is_explained(state: Path, tmp_path: Path, arguments: list[str], complaint: str) -> None:
    result = run("import", written(tmp_path, rows("A")), *arguments)
    assert result.exit_code == 2
    assert complaint in " ".join(result.output.replace("│", " ").split())


def test_a_missing_model_is_said_with_what_to_do(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise EncoderError("there is no embedding model. Run `make models` to fetch it.")

    monkeypatch.setattr("headway.embedding.load", missing)
    result = run("import", written(tmp_path, rows("A")))
    assert result.exit_code == 69
    assert "make models" in result.output


def test_build_makes_the_index_of_the_domain_and_keeps_imports(state: Path, tmp_path: Path) -> None:
    run("import", written(tmp_path, rows("A")))
    result = run("build")
    assert result.exit_code == 0, result.output
    assert "and 1 imported" in result.output
    assert run("build", "--forget-imports").exit_code == 0
    assert load(state / "catalogue.index").imported == ()


def test_build_replaces_a_foreign_file_only_when_told_to(state: Path) -> None:
    state.mkdir()
    (state / "catalogue.index").write_bytes(b"my diary")
    result = run("build")
    assert result.exit_code == 65
    assert "--forget-imports" in result.output
    assert (state / "catalogue.index").read_bytes() == b"my diary"
    assert run("build", "--forget-imports").exit_code == 0


def test_info_says_what_is_in_the_index(state: Path, tmp_path: Path) -> None:
    assert run("info").exit_code == 66
    run("import", written(tmp_path, rows("A", "B")), "--only")
    result = run("info")
    assert result.exit_code == 0
    assert "2 records" in result.output
    assert "same@1" in result.output
    assert "jeju" in result.output
    (state / "catalogue.index").write_bytes(b"x")
    assert run("info").exit_code == 65
