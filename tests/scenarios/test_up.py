"""``headway up``, ``down`` and ``demo``: the whole mesh as real processes, from start to stop."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from headway.testing import eventually
from tests.scenarios.command_runs import LONGEST, PARTS, ROOT, Commands, alive

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "var")


async def test_a_mesh_becomes_ready_says_how_to_ask_it_and_stops_at_ctrl_c(commands: Commands) -> None:
    with commands.started("up", "--scenario", "zero") as process:
        await eventually(lambda: commands.phase() == "ready", within=LONGEST, what="a ready mesh")
        mesh = commands.mesh()
        answer = commands.ask("제주도 3박4일 가족여행", "--deadline", "5s")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST)
    assert (process.returncode, err) == (0, "")
    assert answer.items()
    assert "answers come from simulators, not from a model" in out
    assert all(f"{part} is ready at {mesh['addresses'][part]}" in out for part in PARTS)
    assert f"Headway is ready at {mesh['orchestrator']}" in out
    assert f"{mesh['orchestrator']} headway.v1.RecommendationService/Recommend" in out
    assert "Traceback" not in "".join(log.read_text() for log in (commands.state / "log").iterdir())
    assert sorted(mesh["pids"]) == sorted(PARTS)
    assert not any(alive(pid) for pid in mesh["pids"].values())
    assert commands.phase() == ""


async def test_a_second_up_is_refused_and_a_demo_uses_the_mesh_that_runs(commands: Commands) -> None:
    with commands.running_mesh("--scenario", "zero"):
        orchestrator = commands.mesh()["orchestrator"]
        for form in ((), ("--detach",)):
            second = commands.run("up", *form)
            assert second.code == 69
            assert f"running already at {orchestrator}" in second.out
        demo = commands.run("demo")
        assert (demo.code, demo.err) == (0, "")
        assert f"Using the mesh that runs at {orchestrator}" in demo.out
        assert commands.phase() == "ready"
        pids = commands.mesh()["pids"].values()
    assert not any(alive(pid) for pid in pids)
    assert commands.run("down").out == "No mesh is running here.\n"


async def test_a_killed_part_is_started_again_and_questions_are_answered_as_before(commands: Commands) -> None:
    def answered_by_a_model() -> bool:
        return bool({item["tier"] for item in commands.ask("제주 맛집").items()} & {"TIER_SMALL", "TIER_LARGE"})

    with commands.started("up", "--scenario", "zero") as process:
        await eventually(lambda: commands.phase() == "ready", within=LONGEST, what="a ready mesh")
        before = commands.mesh()["pids"]["generator"]
        os.kill(before, signal.SIGKILL)
        await eventually(lambda: commands.mesh()["pids"].get("generator", before) != before, within=30)
        await eventually(answered_by_a_model, within=LONGEST, what="an answer of a model")
        process.send_signal(signal.SIGTERM)
        out, _err = process.communicate(timeout=LONGEST)
    assert process.returncode == 0
    assert "generator was killed by signal 9; it starts again in" in out


async def test_nothing_of_a_mesh_outlives_an_up_that_is_killed(commands: Commands) -> None:
    with commands.started("up", "--scenario", "zero") as process:
        await eventually(lambda: commands.phase() == "ready", within=LONGEST, what="a ready mesh")
        pids = commands.mesh()["pids"].values()
        process.kill()
        process.wait()
        await eventually(lambda: not any(alive(pid) for pid in pids), within=30, what="the end of all parts")
    assert commands.run("down").out == "No mesh is running here.\n"


async def test_a_missing_model_stops_the_start_and_says_what_to_do(commands: Commands, tmp_path: Path) -> None:
    ran = commands.run("up", HEADWAY_MODELS=str(tmp_path / "none"))
    assert ran.code == 69
    assert "was given up: it ended with code 69; it cannot start" in ran.out
    assert "make models" in ran.out
    assert "Traceback" not in ran.out + ran.err
    doctor = commands.run("doctor", HEADWAY_MODELS=str(tmp_path / "none"))
    assert doctor.code == 1
    assert "model.onnx is not there" in " ".join(doctor.out.split())


async def test_a_setting_that_cannot_be_used_stops_the_start_with_its_name(commands: Commands) -> None:
    ran = commands.run("up", HEADWAY_ROUTER_CAP="soon")
    assert ran.code == 78
    assert "HEADWAY_ROUTER_CAP='soon'" in ran.out


async def test_a_catalogue_that_is_none_stops_the_start_and_names_the_file(commands: Commands, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "domains" / "travel", tmp_path / "travel")
    for file in (tmp_path / "travel" / "catalogue").glob("*.jsonl"):
        file.write_bytes(b"\x89PNG\r\n\x1a\n")
    ran = commands.run("up", "--only", "retrieval", HEADWAY_DOMAIN=str(tmp_path / "travel"))
    assert ran.code == 69
    assert ".jsonl" in ran.out


async def test_the_demo_answers_both_questions_and_leaves_nothing_behind(commands: Commands) -> None:
    ran = commands.run("demo")
    assert (ran.code, ran.err) == (0, "")
    assert "제주도 3박4일 가족여행" in ran.out
    assert "3-day Tokyo trip with kids" in ran.out
    assert ran.out.count("generator.lodging") >= 2
    assert commands.phase() == ""
