"""The contract keeps buf's rules, and what would break its callers is caught."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.contract.outside_programs import Finished, finished


def check(proto: Path) -> Finished:
    return finished(sys.executable, str(proto / "generate.py"), "--check")


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    """A copy of ``proto/`` whose released contract is the present one."""
    proto = tmp_path / "proto"
    shutil.copytree(root / "proto", proto, ignore=shutil.ignore_patterns("__pycache__"))
    run = finished(sys.executable, str(proto / "generate.py"), "--release")
    assert run.code == 0, run.err
    return proto


def edit(proto: Path, name: str, pattern: str, replacement: str) -> None:
    """Changes the one place of a proto file that the pattern finds."""
    path = proto / "headway" / "v1" / name
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1, f"{pattern!r} is found {count} times in {name}"
    path.write_text(text, encoding="utf-8")


def test_the_contract_keeps_the_rules_and_breaks_no_caller(root: Path) -> None:
    assert (root / "proto" / "released.binpb").is_file(), "no released contract to compare with"
    run = check(root / "proto")
    assert run.code == 0, run.out + run.err


@pytest.mark.parametrize(
    ("name", "pattern", "replacement"),
    [
        pytest.param("item.proto", r"^  string title = 4;$", "", id="a field is removed"),
        pytest.param("item.proto", r"^  string title = 4;$", "  string title = 14;", id="a field changes its number"),
        pytest.param("item.proto", r"^  string title = 4;$", "  bytes title = 4;", id="a field changes its type"),
        pytest.param("item.proto", r"^  string title = 4;$", "  string heading = 4;", id="a field changes its name"),
        pytest.param("item.proto", r"^  TIER_LARGE = 3;$", "", id="an enum value is removed"),
        pytest.param(
            "recommendation.proto",
            r"\(RecommendRequest\) returns \(stream RecommendResponse\)",
            "(RecommendRequest) returns (RecommendResponse)",
            id="a stream becomes a single answer",
        ),
        pytest.param("recommendation.proto", r"^    Summary summary = 4;$", "", id="an event is removed"),
    ],
)
def test_a_change_that_breaks_callers_is_caught(copied: Path, name: str, pattern: str, replacement: str) -> None:
    edit(copied, name, pattern, replacement)
    run = check(copied)
    assert run.code != 0
    assert name in run.out + run.err


def test_a_field_can_be_added(copied: Path) -> None:
    edit(copied, "item.proto", r"^  bool provisional = 11;$", "  bool provisional = 11;\n  // New.\n  string new = 12;")
    run = check(copied)
    assert run.code == 0, run.out + run.err


def test_a_field_without_a_comment_is_caught(copied: Path) -> None:
    edit(copied, "item.proto", r"^  bool provisional = 11;$", "  bool provisional = 11;\n\n  string new = 12;")
    run = check(copied)
    assert run.code != 0
    assert "comment" in run.out + run.err
