"""A mesh of real processes is watched, asked with --trace, and explained, as a user types it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.command_runs import LONGEST, ROOT, Commands

pytestmark = pytest.mark.timeout(300)
NARROW = {"COLUMNS": "80"}


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands beside a mesh whose simulators take no time, and that has been asked once."""
    found = Commands(tmp_path_factory.mktemp("mesh") / "var")
    with found.running_mesh("--scenario", "zero"):
        assert found.ask("3-day Tokyo trip with kids").code == 0
        yield found


def test_one_look_at_all_services(commands: Commands) -> None:
    ran = commands.run("top", "--once", **NARROW)
    assert ran.code == 0, ran.err
    assert "4 of 4 services" in ran.out
    for stage in ("router", "retrieval.internal", "generator.food"):
        assert any(line.split()[:1] == [stage] for line in ran.out.splitlines()), ran.out
    assert "anthropic" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_the_picture_on_a_terminal_until_q_is_pressed(commands: Commands) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        commands._command(("top", "--interval", "200ms")),
        cwd=ROOT,
        env=commands.environment | NARROW | {"LINES": "24", "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        _until(ours, b"4 of 4 services")
        os.write(ours, b"q")
        _until(ours, None)
        assert process.wait(LONGEST) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _until(terminal: int, sought: bytes | None) -> None:
    """Reads until ``sought`` was printed, None: until the other side has closed."""
    seen, give_up = b"", time.monotonic() + LONGEST
    while time.monotonic() < give_up:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            more = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side has closed
            more = b""
        if not more:
            assert sought is None, f"it ended before it showed {sought!r}: {seen[-2000:]!r}"
            return
        seen += more
        if sought is not None and sought in seen:
            return
    pytest.fail(f"{sought!r} did not come: {seen[-2000:]!r}")


def test_where_the_time_went_is_shown_at_once_and_again(commands: Commands) -> None:
    ran = commands.run("ask", "제주도 3박4일 가족여행", "--trace", **NARROW)
    assert ran.code == 0, ran.err
    assert "━" in ran.out
    again = ran.out.splitlines()[-1].split()
    assert again[-2] == "explain"
    explained = commands.run("explain", again[-1], **NARROW)
    assert explained.code == 0, explained.err
    drawn = [line for line in ran.out.splitlines() if "━" in line]
    assert [line for line in explained.out.splitlines() if "━" in line] == drawn
    assert "제주도" not in explained.out


def test_what_is_not_known_leaves_with_a_code_and_a_reason(commands: Commands, tmp_path: Path) -> None:
    ran = commands.run("explain", "nobody")
    assert (ran.code, ran.out) == (1, "")
    assert "HEADWAY_EXPLAIN_KEEP" in ran.err
    elsewhere = Commands(tmp_path / "var").run("top", "--once", "--metrics", "router=127.0.0.1:1")
    assert "router cannot be reached: nothing answers at 127.0.0.1:1" in elsewhere.out


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("top", "--metrics", "kitchen=127.0.0.1:1"), {}, "'kitchen' is not one of router"),
        (("top", "--metrics", "router=somewhere"), {}, "host:port"),
        (("top", "--once"), {"HEADWAY_METRICS_OFFSET": "0"}, "HEADWAY_METRICS_OFFSET is 0"),
        (("top", "--interval", "0s"), {}, "longer than zero"),
        (("ask", "x", "--json", "--trace"), {}, "--json"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    ran = Commands(tmp_path / "var").run(*arguments, **environment)
    assert ran.code == 2
    assert said in ran.err
