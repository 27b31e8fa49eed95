"""What is known of a mesh that runs: a file, and a lock that dies with its holder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headway.cli.state import AlreadyRunning, MeshState, claimed, is_claimed, running

STATE = MeshState(
    pid=7,
    phase="ready",
    orchestrator="127.0.0.1:1",
    simulated=True,
    addresses={"router": "127.0.0.1:2"},
    pids={"router": 8},
)


def test_a_published_state_is_read_back_while_the_claim_lasts(tmp_path: Path) -> None:
    with claimed(tmp_path) as claim:
        claim.publish(STATE)
        assert running(tmp_path) == STATE
    assert running(tmp_path) is None
    assert not (tmp_path / "mesh.json").exists()


def test_a_second_claim_is_refused_and_says_what_runs(tmp_path: Path) -> None:
    with claimed(tmp_path) as claim:
        claim.publish(STATE)
        with pytest.raises(AlreadyRunning) as refused, claimed(tmp_path):
            pass
    assert refused.value.state == STATE


def test_what_a_killed_holder_left_behind_counts_for_nothing(tmp_path: Path) -> None:
    script = f"""
import os, pathlib, signal
from headway.cli.state import MeshState, claimed
with claimed(pathlib.Path({str(tmp_path)!r})) as claim:
    claim.publish(MeshState(pid=1, phase="ready", orchestrator="x", simulated=False))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == -9
    assert (tmp_path / "mesh.json").exists()
    assert running(tmp_path) is None
    with claimed(tmp_path):
        assert is_claimed(tmp_path)


def test_asking_does_not_need_a_folder(tmp_path: Path) -> None:
    assert not is_claimed(tmp_path / "none")
    assert running(tmp_path / "none") is None


def test_an_unreadable_state_is_none(tmp_path: Path) -> None:
    with claimed(tmp_path):
        (tmp_path / "mesh.json").write_text('{"pid": 1}')
        assert is_claimed(tmp_path)
        assert running(tmp_path) is None
