"""The command as a whole: what can be typed, and how it leaves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headway.cli.endpoints import SERVICES

FREE = {f"HEADWAY_{name.upper()}_LISTEN": "127.0.0.1:0" for name in (*SERVICES, "simulators")}


def headway(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "headway.cli", *arguments],
        env=dict(os.environ) | FREE | {"HEADWAY_STATE": str(folder / "var")} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_says_its_version(tmp_path: Path) -> None:
    ran = headway(tmp_path, "--version")
    assert (ran.returncode, ran.stdout.split()[0]) == (0, "headway")


@pytest.mark.parametrize("command", ["up", "down", "ask", "demo", "doctor"])
def test_every_command_explains_itself(tmp_path: Path, command: str) -> None:
    ran = headway(tmp_path, command, "--help")
    assert ran.returncode == 0
    assert f"headway {command}" in ran.stdout


def test_down_without_a_mesh_is_no_fault(tmp_path: Path) -> None:
    ran = headway(tmp_path, "down")
    assert (ran.returncode, ran.stdout) == (0, "No mesh is running here.\n")


def test_a_taken_port_stops_up_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        ran = headway(tmp_path, "up", HEADWAY_ROUTER_LISTEN=f"127.0.0.1:{port}")
    assert ran.returncode == 69
    assert f"router: port {port} cannot be used" in ran.stdout
    assert "HEADWAY_ROUTER_LISTEN" in ran.stdout
    assert ran.stderr == ""
    assert not (tmp_path / "var" / "log" / "router.log").exists()


def test_an_address_that_is_none_is_unusable_configuration(tmp_path: Path) -> None:
    ran = headway(tmp_path, "up", HEADWAY_ROUTER_LISTEN="somewhere")
    assert ran.returncode == 78
    assert "HEADWAY_ROUTER_LISTEN='somewhere'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_state_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("a file where the folder should be")
    ran = headway(tmp_path, "up")
    assert ran.returncode == 69
    assert "HEADWAY_STATE" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize("option", [("--scenario", "zero"), ("--seed", "3")])
def test_an_option_for_simulators_is_refused_when_there_are_none(tmp_path: Path, option: tuple[str, str]) -> None:
    ran = headway(tmp_path, "up", *option, "--no-simulators")
    assert ran.returncode == 2
    assert option[0] in ran.stderr


def test_a_scenario_that_does_not_exist_is_told_in_the_words_of_the_simulators(tmp_path: Path) -> None:
    ran = headway(tmp_path, "up", "--scenario", "no-such-thing", "--only", "generator")
    assert ran.returncode == 78
    assert "simulators was given up" in ran.stdout
    assert "no-such-thing" in ran.stdout
    assert ran.stderr == ""
