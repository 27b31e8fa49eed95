"""CONTRIBUTING.md names commands, tests and files that exist."""

from __future__ import annotations

import re

import pytest

from tests.unit.deployment_files import ROOT


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_make_target_exists(text: str) -> None:
    named = set(re.findall(r"\bmake (?:PYTHON=\S+ )?([a-z][a-z-]*)", re.sub(r"\n", " ", text)))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"setup", "check", "fmt"} <= named
    assert {target for target in named if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()


def test_every_test_that_is_named_exists(text: str) -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    functions = set(re.findall(r"`(test_[a-z_]+)`", text))
    assert functions
    assert {name for name in functions if f"def {name}(" not in sources} == set()


def test_every_path_that_is_named_exists(text: str) -> None:
    known = ("tests/", "proto/", "docs/", "headway/", "services/")
    paths = {path for path in re.findall(r"[\w./*-]+", text) if path.startswith(known)}
    assert len(paths) > 8
    assert {path for path in paths if not list(ROOT.glob(path.rstrip("./")))} == set()


def test_the_checks_are_those_of_make_check(text: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (prerequisites,) = re.findall(r"^check: ([a-z -]+?) ##", makefile, re.MULTILINE)
    for target in set(prerequisites.split()) - {"test"}:
        assert f"`make {target}`" in text
