"""What the doctor finds, and what it says to do."""

from __future__ import annotations

import hashlib
import io
import shutil
import socket
from pathlib import Path

import pytest

from headway import models
from headway.cli import doctor as examined
from headway.cli.doctor import DoctorConfig, Finding, State, doctor
from headway.cli.endpoints import SERVICES, MeshConfig
from headway.cli.state import MeshState, claimed
from headway.cli.terminal import console
from headway.server import Hosted, always_ready
from headway.settings import read
from headway.testing import hosting
from headway.v1 import router_pb2_grpc

FREE = {f"HEADWAY_{name.upper()}_LISTEN": "127.0.0.1:0" for name in (*SERVICES, "simulators")}


async def not_loaded() -> str:
    return "the model is not loaded"


def router(check: object) -> Hosted:
    return Hosted(
        name="headway.v1.RouterService",
        register=lambda server: router_pb2_grpc.add_RouterServiceServicer_to_server(
            router_pb2_grpc.RouterServiceServicer(),  # type: ignore[abstract]  # it is never called
            server,
        ),
        check=check,  # type: ignore[arg-type]
    )


def config(**variables: str) -> DoctorConfig:
    return read(DoctorConfig, variables)


def model_of(content: bytes) -> models.Model:
    digest = hashlib.sha256(content).hexdigest()
    file = models.ModelFile(name="model.onnx", requirement="x==1", member="x", sha256=digest)
    return models.Model(folder="tiny", alias="tiny", about="for tests", files=(file,))


def test_an_old_python_is_missing_and_says_which_is_needed() -> None:
    assert examined.python((3, 11, 0)).state is State.FINE
    old = examined.python((3, 10, 9))
    assert (old.state, old.text) == (State.MISSING, "3.10.9 is too old")
    assert "3.11" in old.advice


def test_the_packages_of_this_environment_are_all_there() -> None:
    assert examined.packages().state is State.FINE


@pytest.mark.parametrize(
    ("content", "state", "text"),
    [
        (b"right", State.FINE, "hash checked"),
        (b"wrong", State.MISSING, "damaged"),
        (None, State.MISSING, "is not there"),
    ],
)
def test_a_model_is_checked_by_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, state: State, text: str
) -> None:
    monkeypatch.setattr(models, "MODELS", (model_of(b"right"),))
    (tmp_path / "tiny").mkdir()
    if content is not None:
        (tmp_path / "tiny" / "model.onnx").write_bytes(content)
    (finding,) = examined.embedding_model(config(HEADWAY_MODELS=str(tmp_path), HEADWAY_ENCODER="tiny"))
    assert finding.state is state
    assert text in finding.text
    assert (finding.advice == "") is (state is State.FINE)


def test_an_unknown_model_names_those_that_are_known() -> None:
    (finding,) = examined.embedding_model(config(HEADWAY_ENCODER="none"))
    assert finding.state is State.MISSING
    assert "use-multilingual" in finding.advice


def test_a_model_of_ones_own_must_exist(tmp_path: Path) -> None:
    file = tmp_path / "own.onnx"
    assert [each.state for each in examined.embedding_model(config(HEADWAY_ENCODER=str(file)))] == [State.MISSING]
    file.write_bytes(b"x")
    assert [each.state for each in examined.embedding_model(config(HEADWAY_ENCODER=str(file)))] == [State.FINE]


def test_a_folder_that_is_no_domain_is_missing(tmp_path: Path) -> None:
    finding = examined.travel_domain(tmp_path)
    assert finding.state is State.MISSING
    assert "HEADWAY_DOMAIN" in finding.advice


def test_the_domain_that_ships_is_fine(root: Path) -> None:
    finding = examined.travel_domain(root / "domains" / "travel")
    assert finding.state is State.FINE, finding.text
    assert "5 intents, 3 sections" in finding.text


def test_little_room_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage._replace(free=1_000_000))
    assert examined.disk(tmp_path).state is State.NOTE


async def test_a_taken_port_is_missing_and_names_the_variable(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        address = f"127.0.0.1:{occupied.getsockname()[1]}"
        environment = FREE | {"HEADWAY_ROUTER_LISTEN": address, "HEADWAY_STATE": str(tmp_path)}
        findings = await examined.parts(read(MeshConfig, environment))
    router_finding = next(finding for finding in findings if finding.what == "router")
    assert router_finding.state is State.MISSING
    assert "HEADWAY_ROUTER_LISTEN" in router_finding.advice


@pytest.mark.parametrize(("check", "state"), [(always_ready, State.FINE), (not_loaded, State.MISSING)])
async def test_of_a_mesh_that_runs_the_health_is_shown(tmp_path: Path, check: object, state: State) -> None:
    async with hosting(router(check)) as address:
        with claimed(tmp_path) as claim:
            running = MeshState(
                pid=1, phase="ready", orchestrator="", simulated=False, addresses={"router": address}, pids={}
            )
            claim.publish(running)
            findings = await examined.parts(read(MeshConfig, {"HEADWAY_STATE": str(tmp_path)}))
    assert [(finding.what, finding.state) for finding in findings] == [("mesh", State.FINE), ("router", state)]


def test_keys_are_named_and_never_shown() -> None:
    found = examined.keys({"OPENAI_API_KEY": "sk-very-secret", "HEADWAY_BRAVE_API_KEY": "also-secret"})
    assert [finding.state for finding in found] == [State.FINE, State.FINE]
    text = " ".join(finding.text + finding.advice for finding in found)
    assert "OPENAI_API_KEY" in text
    assert "secret" not in text


def test_missing_keys_are_a_note_that_says_who_answers_then() -> None:
    assert {finding.state for finding in examined.keys({})} == {State.NOTE}
    assert "simulators answer" in examined.keys({})[0].text


async def test_something_missing_makes_the_command_fail_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    environment = FREE | {"HEADWAY_STATE": str(tmp_path), "HEADWAY_DOMAIN": str(tmp_path)}
    fine = [Finding(what="model", state=State.FINE, text="there")]
    monkeypatch.setattr(examined, "embedding_model", lambda _config: fine)
    assert await doctor(environment, console(stream)) == 1
    assert "1 missing." in stream.getvalue()


async def test_settings_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    stream = io.StringIO()
    assert await doctor({"HEADWAY_ROUTER_LISTEN": "nowhere"}, console(stream)) == 1
    assert "HEADWAY_ROUTER_LISTEN" in stream.getvalue()
