"""Log files of children: rotated, followed, and what of them a person sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.cli import logfiles
from headway.cli.logfiles import LogFile, readable, remarks


def test_earlier_logs_are_kept_under_numbers_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "log" / "router.log"
    for start in range(6):
        with LogFile(path).open() as output:
            output.write(f"start {start}\n".encode())
    kept = {each.name: each.read_text() for each in path.parent.iterdir()}
    assert kept == {
        "router.log": "start 5\n",
        "router.log.1": "start 4\n",
        "router.log.2": "start 3\n",
        "router.log.3": "start 2\n",
    }


def test_only_finished_lines_are_followed_each_once(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    with log.open() as output:
        output.write("첫 줄\n둘째".encode())
        assert log.new_lines() == ["첫 줄"]
        assert log.new_lines() == []
        output.write(" 줄\n".encode())
        assert log.new_lines() == ["둘째 줄"]


def test_a_character_cut_in_two_is_put_together(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    whole = "줄\n".encode()
    with log.open() as output:
        output.write(whole[:1])
        assert log.new_lines() == []
        output.write(whole[1:])
        assert log.new_lines() == ["줄"]


def test_a_file_that_was_removed_is_no_fault(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    log.open().close()
    log.path.unlink()
    assert log.new_lines() == []
    assert log.last(5) == []
    assert log.size() == 0


def test_a_log_that_grew_too_large_is_set_aside_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfiles, "LARGEST_BYTES", 100)
    log = LogFile(tmp_path / "x.log")
    with log.open() as output:
        output.write(b"a" * 120 + b"\n")
        assert len(log.new_lines()) == 1
        output.write(b"after\n")
        assert log.new_lines() == ["after"]
    assert log.path.read_text() == "after\n"
    assert log.path.with_name("x.log.1").stat().st_size == 121


def test_the_last_lines_begin_where_the_last_life_of_the_child_began(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    with log.open() as output:
        output.write(b"first life\n")
        began = log.size()
        output.write(b"second life\n\nends\n")
    assert log.last(10, since=began) == ["second life", "ends"]
    assert log.last(1) == ["ends"]


def test_warnings_and_errors_are_remarks_and_nothing_else_is() -> None:
    lines = [
        '{"event":"call","level":"info"}',
        '{"event":"cache prefix missed","level":"warning","service":"generator","rate":0.4,"timestamp":"2026"}',
        '{"event":"failed","level":"error","exception":"Traceback\\n  File x\\nKeyError: 1"}',
        "2026-11-30 [warning  ] as the format for terminals has it",
        "a line without a level",
        "{not json",
    ]
    found = remarks(lines)
    assert [(each.level, each.text) for each in found] == [
        ("warning", "cache prefix missed rate=0.4"),
        ("error", "failed: KeyError: 1"),
        ("warning", lines[3]),
    ]


def test_a_plain_line_is_readable_as_it_is() -> None:
    assert readable("router: unusable configuration") == "router: unusable configuration"
