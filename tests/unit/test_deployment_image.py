"""services/Dockerfile, read against the code: there need be no container engine where the tests run."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headway.models import MODELS
from headway.settings import declared
from tests.unit.deployment_files import (
    DOCKERFILE,
    ROOT,
    SERVICES,
    config_of,
    environment_of_stage,
    instructions,
    let_through,
    of_stage,
)

FINAL = ("service", "simulators")


@pytest.mark.skipif(sys.platform == "win32", reason="hadolint is not published for Windows")
def test_the_dockerfile_keeps_the_rules_of_its_linter() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    run = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("service", SERVICES)
def test_every_path_that_is_copied_exists_and_reaches_the_builder(service: str) -> None:
    copied = [each.rest.split(" ")[:-1] for each in instructions() if each.word == "COPY" and "--from" not in each.rest]
    sources = [source.replace("${SERVICE}", service) for each in copied for source in each]
    assert f"services/{service}" in sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert let_through(source), f".dockerignore keeps {source} out"


@pytest.mark.parametrize(
    "path", [".venv", ".git", "tests", "models", "var", ".env", "headway/__pycache__", "README.md"]
)
def test_what_no_image_needs_does_not_reach_the_builder(path: str) -> None:
    assert not let_through(path)


@pytest.mark.parametrize("service", SERVICES)
def test_the_command_names_a_module_that_exists(service: str) -> None:
    (command,) = of_stage("service", "CMD")
    shell, option, line = json.loads(command)
    assert (shell, option) == ("sh", "-c")
    executed = re.fullmatch(r"exec python -m (\S+)", line)
    assert executed, "without exec the shell would get the signals"
    module = executed[1].replace("${SERVICE}", service)
    assert importlib.util.find_spec(f"{module}.__main__") is not None


def test_the_command_of_the_simulators_can_be_reached_from_outside() -> None:
    (command,) = of_stage("simulators", "CMD")
    assert json.loads(command) == ["python", "-m", "simulators", "--host", "0.0.0.0"]


def test_every_setting_of_the_image_is_a_setting_of_some_service() -> None:
    known = {each.variable for service in SERVICES for each in declared(config_of(service))}
    ours = {name for name in environment_of_stage("service") if name.startswith("HEADWAY_")}
    assert ours
    assert ours <= known


def test_the_domain_and_the_models_are_where_the_image_says() -> None:
    environment = environment_of_stage("service")
    (folder,) = of_stage("runtime", "WORKDIR")
    assert Path(environment["HEADWAY_DOMAIN"]).relative_to(folder) == Path("domains/travel")
    assert (ROOT / "domains" / "travel" / "domain.toml").is_file()
    assert environment["HEADWAY_MODELS"] == f"{folder}/models"
    assert "--from=models /app/models models" in of_stage("service", "COPY")


def test_the_model_of_the_image_is_the_one_that_is_used_by_default() -> None:
    (model,) = [rest.partition("=")[2] for rest in of_stage("models", "ARG") if rest.startswith("MODEL=")]
    assert model in {each.folder for each in MODELS}
    for service in ("router", "retrieval"):
        assert {each.variable: each.default for each in declared(config_of(service))}["HEADWAY_ENCODER"] == model


def test_the_model_is_fetched_for_just_the_services_that_embed() -> None:
    embedding = {
        service
        for service in SERVICES
        if any("headway.embedding" in path.read_text("utf-8") for path in (ROOT / "services" / service).rglob("*.py"))
    }
    (run,) = of_stage("models", "RUN")
    pattern = re.search(r'case "\$\{SERVICE\}" in (\S+)\)', run)
    assert pattern
    assert set(pattern[1].split("|")) == embedding


@pytest.mark.parametrize("stage", FINAL)
def test_processes_run_without_rights_and_stop_on_the_signal_they_drain_on(stage: str) -> None:
    user = of_stage(stage, "USER")[-1]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user), "orchestrators check numbers, not names"
    assert f"--uid {user.partition(':')[0]}" in " ".join(of_stage("runtime", "RUN"))
    assert of_stage("runtime", "STOPSIGNAL") == ["SIGTERM"]
    assert f"runtime AS {stage}" in of_stage(stage, "FROM")


@pytest.mark.parametrize("stage", FINAL)
def test_every_image_can_say_whether_it_is_healthy(stage: str) -> None:
    (check,) = of_stage(stage, "HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    assert command[0] in {"sh", "python"}
    if stage == "service":
        assert command[2] == "exec python -m headway.probe 127.0.0.1:${PORT}"
        assert importlib.util.find_spec("headway.probe") is not None


def test_the_base_is_named_to_its_patch_release() -> None:
    (base,) = [each.rest for each in instructions() if not each.stage and each.word == "ARG"]
    assert re.fullmatch(r"BASE=python:3\.11\.\d+-slim-[a-z]+", base)
    stages = [each.rest for each in instructions() if each.word == "FROM"]
    known = {rest.rpartition(" AS ")[2] for rest in stages} | {"${BASE}"}
    assert all(rest.partition(" AS ")[0] in known for rest in stages)


def test_packages_are_checked_by_their_hashes_and_never_built() -> None:
    (run,) = of_stage("dependencies", "RUN")
    assert "--require-hashes" in run
    assert "--only-binary :all:" in run
    assert "--requirement /requirements-runtime.lock" in run


def pinned(lock: str) -> dict[str, set[str]]:
    """Hashes by pin, for example ``{"grpcio==1.85.3": {...}}``."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if "==" in line]
    assert lines
    return {words[0]: {word for word in words if word.startswith("--hash=sha256:")} for words in lines}


def test_what_services_run_on_is_part_of_what_is_tested() -> None:
    tested, run = pinned("requirements.lock"), pinned("requirements-runtime.lock")
    assert all(run.values()), "a pin without a hash"
    assert {pin for pin, hashes in run.items() if tested.get(pin) != hashes} == set()
    assert not {pin.partition("==")[0] for pin in run} & {"pytest", "mypy", "ruff", "hypothesis", "grpcio-tools"}


@pytest.mark.parametrize(
    ("lock", "extras"), [("requirements.lock", ("dev", "build")), ("requirements-runtime.lock", ())]
)
def test_the_lock_files_hold_what_the_project_asks_for(lock: str, extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + [each for extra in extras for each in project["optional-dependencies"][extra]]
    versions: dict[str, list[str]] = {}
    for pin in pinned(lock):
        name, _, version = pin.partition("==")
        versions.setdefault(name, []).append(version)
    for requirement in map(Requirement, asked):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement.name} is not in {lock}: run make lock"
        assert any(requirement.specifier.contains(version) for version in found), f"{requirement} against {found}"
