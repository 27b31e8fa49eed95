"""docker-compose.yml, by the schema of compose files and read against the code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.cli.endpoints import ROLES
from headway.server import SharedConfig
from headway.settings import declared, effective, read, span
from tests.unit.deployment_files import ROOT, SERVICES, composition, config_of, interpolated, names_in, of_stage

FILE = ROOT / "docker-compose.yml"
OBSERVERS = ["observability"]
ENVIRONMENTS = {
    "nothing set": {},
    "simulators": {"COMPOSE_PROFILES": "simulators"},
    "a key": {"ANTHROPIC_API_KEY": "sk-secret", "HEADWAY_TAVILY_API_KEY": "tv-secret"},
}


@pytest.fixture(scope="module")
def document() -> Any:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def processes(document: Any) -> dict[str, Any]:
    """The containers of the mesh; those that watch it have tests of their own."""
    return {name: each for name, each in document["services"].items() if each.get("profiles") != OBSERVERS}


def roles() -> dict[str, Any]:
    return {role.name: role for role in ROLES}


def default_port(service: str) -> str:
    defaults = {each.variable: each.default for each in declared(config_of(service))}
    return defaults[f"HEADWAY_{service.upper()}_LISTEN"].rpartition(":")[2]


def test_the_file_fits_the_schema_of_compose_files() -> None:
    check = Path(sys.executable).parent / "check-jsonschema"
    run = subprocess.run(
        [check, "--builtin-schema", "vendor.compose-spec", FILE],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_part_of_the_mesh_is_one_container(processes: dict[str, Any]) -> None:
    assert set(processes) == set(roles())
    assert processes["simulators"]["profiles"] == ["simulators"]
    assert all("profiles" not in processes[service] for service in SERVICES)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_built_with_its_own_name_and_port(processes: dict[str, Any], service: str) -> None:
    build = processes[service]["build"]
    assert build["args"] == {"SERVICE": service, "PORT": default_port(service)}
    assert (ROOT / build["context"] / build["dockerfile"]).is_file()
    assert "target" not in build, "the last stage is that of the services"


def test_the_simulators_are_built_from_their_own_stage(processes: dict[str, Any]) -> None:
    assert of_stage(processes["simulators"]["build"]["target"], "CMD")


@pytest.mark.parametrize("service", SERVICES)
def test_every_variable_is_a_setting_of_the_service_that_gets_it(processes: dict[str, Any], service: str) -> None:
    known = {each.variable for kind in (config_of(service), SharedConfig) for each in declared(kind)}
    assert set(processes[service]["environment"]) <= known


@pytest.mark.parametrize("service", SERVICES)
def test_a_variable_from_outside_keeps_its_name(processes: dict[str, Any], service: str) -> None:
    for name, value in processes[service]["environment"].items():
        assert names_in(value) <= {name, "COMPOSE_PROFILES"}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_service_accepts_its_settings_and_listens_where_it_is_looked_for(
    service: str, environment: dict[str, str]
) -> None:
    process = composition(environment)["services"][service]
    config = read(config_of(service), process["environment"])
    read(SharedConfig, process["environment"])
    host, _, port = config.listen.rpartition(":")
    assert host == "0.0.0.0", "a service on loopback cannot be reached from another container"
    assert port == default_port(service) == process["build"]["args"]["PORT"]
    metrics = str(int(port) + read(SharedConfig, {}).metrics_offset)
    assert {each.rpartition(":")[2] for each in process["expose"] + process.get("ports", [])} == {port, metrics}


def test_neighbours_are_called_by_name_at_their_ports() -> None:
    config = read(config_of("orchestrator"), composition({})["services"]["orchestrator"]["environment"])
    for neighbour in ("router", "retrieval", "generator"):
        assert getattr(config, neighbour) == f"dns:///{neighbour}:{default_port(neighbour)}"


def test_the_profile_alone_leads_the_mesh_to_the_simulators() -> None:
    services = composition(ENVIRONMENTS["simulators"])["services"]
    at = "http://simulators:" + services["simulators"]["expose"][0]
    generator, retrieval = services["generator"]["environment"], services["retrieval"]["environment"]
    assert generator["HEADWAY_ANTHROPIC_BASE_URL"] == f"{at}/anthropic"
    assert generator["HEADWAY_OPENAI_BASE_URL"] == f"{at}/openai/v1"
    assert generator["ANTHROPIC_API_KEY"] == generator["OPENAI_API_KEY"] == "simulated"
    assert retrieval["HEADWAY_WEB_SEARCH_URL"] == f"{at}/web"


@pytest.mark.parametrize("name", ["nothing set", "a key"])
def test_without_the_profile_nothing_leads_to_the_simulators(name: str) -> None:
    services = composition(ENVIRONMENTS[name])["services"]
    assert "simulat" not in json.dumps([services[each]["environment"] for each in SERVICES])


def test_keys_reach_the_service_that_needs_them_and_no_other() -> None:
    services = composition(ENVIRONMENTS["a key"])["services"]
    holders = {each for each in SERVICES if "sk-secret" in json.dumps(services[each])}
    assert holders == {"generator"}
    shown = effective(read(config_of("generator"), services["generator"]["environment"]))
    assert "sk-secret" not in json.dumps(shown)


def test_each_service_is_asked_for_its_own_health(processes: dict[str, Any]) -> None:
    for service in SERVICES:
        target, name = f"127.0.0.1:{default_port(service)}", roles()[service].health
        assert processes[service]["healthcheck"]["test"] == ["CMD", "python", "-m", "headway.probe", target, name]


def test_a_service_starts_when_those_it_calls_are_healthy(processes: dict[str, Any]) -> None:
    waits = {name: process.get("depends_on", {}) for name, process in processes.items()}
    assert set(waits["orchestrator"]) == {"router", "retrieval", "generator"}
    for depends in waits.values():
        assert all(each["condition"] == "service_healthy" for each in depends.values())
        assert depends.get("simulators", {"required": False})["required"] is False


def test_only_the_public_api_is_published_and_only_to_this_machine(processes: dict[str, Any]) -> None:
    published = {name: process["ports"] for name, process in processes.items() if "ports" in process}
    port = default_port("orchestrator")
    assert published == {"orchestrator": [f"127.0.0.1:{port}:{port}"]}


def test_every_container_runs_with_as_little_as_it_needs(processes: dict[str, Any]) -> None:
    for name, process in processes.items():
        assert process["read_only"] is True, name
        assert process["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in process["security_opt"], name
        assert process["user"] == of_stage("service", "USER")[-1], name
        assert process["restart"] == "unless-stopped", name
        assert {"cpus", "memory", "pids"} <= set(process["deploy"]["resources"]["limits"]), name
        assert not {"privileged", "network_mode", "pid", "ipc"} & set(process), name


def test_a_stop_leaves_time_to_drain(processes: dict[str, Any]) -> None:
    shared = read(SharedConfig, {})
    for name, process in processes.items():
        assert span(process["stop_grace_period"]) > shared.drain_notice + shared.drain_grace, name


def test_what_retrieval_keeps_outlives_its_container(document: Any) -> None:
    (volume,) = document["services"]["retrieval"]["volumes"]
    source, _, folder = volume.partition(":")
    assert source in document["volumes"]
    assert f"HEADWAY_STATE={folder}" in of_stage("service", "ENV")[0].split(" ")
    assert f"-o headway -g headway {folder}" in of_stage("runtime", "RUN")[0], "the volume takes its owner from there"


@pytest.mark.parametrize(
    ("text", "environment", "value"),
    [
        ("a ${B} c", {"B": "b"}, "a b c"),
        ("${B:-x}", {}, "x"),
        ("${B:-x}", {"B": ""}, "x"),
        ("${B:-x}", {"B": "b"}, "b"),
        ("${B:+x}", {}, ""),
        ("${B:+x}", {"B": "b"}, "x"),
        ("${A:-${B:+http://x:1/y}}", {"B": "b"}, "http://x:1/y"),
        ("${A:-${B:+x}}", {"A": "a", "B": "b"}, "a"),
    ],
)
def test_values_are_filled_in_as_compose_does_it(text: str, environment: dict[str, str], value: str) -> None:
    assert interpolated(text, environment) == value
