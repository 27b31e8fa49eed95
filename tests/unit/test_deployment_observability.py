"""What watches the mesh in containers: images, files and ports, read against the code and against each other."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from headway.server import SharedConfig
from headway.settings import declared, read
from tests.unit.deployment_files import ROOT, SERVICES, composition, config_of, names_in
from tests.unit.test_deployment_compose import OBSERVERS, default_port

DEPLOY = ROOT / "deploy"
WITH_SIMULATORS = {"COMPOSE_PROFILES": "simulators,observability", "HEADWAY_OTLP_ENDPOINT": "http://collector:4317"}
WITH_A_KEY = {"ANTHROPIC_API_KEY": "sk-secret", "HEADWAY_OTLP_ENDPOINT": "http://collector:4317"}


def file(path: str) -> Any:
    return yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(composition(WITH_SIMULATORS)["services"])


@pytest.fixture(scope="module")
def observers(services: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in services.items() if each.get("profiles") == OBSERVERS}


def port_of(address: str) -> str:
    return address.rpartition(":")[2]


def test_the_profile_brings_collector_traces_metrics_and_dashboards(observers: dict[str, Any]) -> None:
    assert set(observers) == {"collector", "jaeger", "prometheus", "grafana"}


def test_images_are_pinned_to_a_release(observers: dict[str, Any]) -> None:
    for name, each in observers.items():
        assert re.search(r":v?\d+\.\d+\.\d+$", each["image"]), name


def test_they_run_with_as_little_as_they_need(observers: dict[str, Any]) -> None:
    for name, each in observers.items():
        assert each["read_only"] is True, name
        assert each["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in each["security_opt"], name
        assert not each["user"].startswith("0"), name
        assert {"cpus", "memory", "pids"} <= set(each["deploy"]["resources"]["limits"]), name
        assert all(volume.endswith(":ro") for volume in each.get("volumes", [])), name
        assert not {"privileged", "network_mode", "pid", "ipc"} & set(each), name


def test_they_can_be_seen_from_this_machine_only(observers: dict[str, Any]) -> None:
    published = [port for each in observers.values() for port in each.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert "ports" not in observers["collector"]


def test_every_file_that_is_mounted_exists(observers: dict[str, Any]) -> None:
    for each in observers.values():
        for volume in each.get("volumes", []):
            assert (ROOT / volume.split(":")[0]).exists(), volume


def test_spans_go_from_the_services_through_the_collector_to_where_they_can_be_seen(services: dict[str, Any]) -> None:
    config = file("collector/config.yaml")
    assert {services[name]["environment"]["HEADWAY_OTLP_ENDPOINT"] for name in SERVICES} == {"http://collector:4317"}
    assert port_of(config["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"]) == "4317"
    out = config["exporters"]["otlp_grpc/traces"]["endpoint"]
    assert out == "${env:HEADWAY_TRACES_TO:-jaeger:4317}"
    assert services["collector"]["environment"]["HEADWAY_TRACES_TO"] == "jaeger:4317"
    assert config["service"]["pipelines"]["traces"] == {
        "receivers": ["otlp"],
        "processors": ["memory_limiter"],
        "exporters": ["otlp_grpc/traces"],
    }
    assert config["exporters"]["otlp_grpc/traces"]["sending_queue"]["batch"]["max_size"] > 0


def test_every_part_of_a_pipeline_is_configured() -> None:
    config = file("collector/config.yaml")
    for pipeline in config["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= set(config[kind])
    assert set(config["service"]["extensions"]) <= set(config["extensions"])


def test_the_collector_is_off_unless_it_is_asked_for() -> None:
    for service in SERVICES:
        assert composition({})["services"][service]["environment"]["HEADWAY_OTLP_ENDPOINT"] == ""


def test_with_a_provider_the_profile_leads_nowhere_near_the_simulators() -> None:
    """Given by --profile, as the file says, it leaves COMPOSE_PROFILES alone."""
    services = composition(WITH_A_KEY)["services"]
    assert "simulat" not in json.dumps([services[each]["environment"] for each in SERVICES])


def test_what_may_be_set_of_tracing_is_passed_on() -> None:
    names = {each.variable for each in declared(SharedConfig)}
    wanted = {name for name in names if name.startswith(("HEADWAY_TRACE_", "HEADWAY_OTLP_"))}
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    for service in SERVICES:
        environment = document["services"][service]["environment"]
        assert wanted <= set(environment)
        assert all(names_in(environment[name]) == {name} for name in wanted)


@pytest.mark.parametrize("service", SERVICES)
def test_prometheus_looks_for_every_service_at_the_port_of_its_metrics(service: str) -> None:
    [job] = [each for each in file("prometheus/prometheus.yml")["scrape_configs"] if each["job_name"] == "headway"]
    [look] = [each for each in job["dns_sd_configs"] if each["names"] == [service]]
    assert look["type"] == "A"
    assert look["port"] == int(default_port(service)) + read(SharedConfig, {}).metrics_offset
    assert config_of(service)


def test_prometheus_names_the_service_that_a_series_is_of() -> None:
    [job] = [each for each in file("prometheus/prometheus.yml")["scrape_configs"] if each["job_name"] == "headway"]
    assert {"source_labels": ["__meta_dns_name"], "target_label": "service"} in job["relabel_configs"]


def test_prometheus_reads_its_rules_and_the_collector(observers: dict[str, Any]) -> None:
    config = file("prometheus/prometheus.yml")
    mounted = {volume.split(":")[1] for volume in observers["prometheus"]["volumes"]}
    assert set(config["rule_files"]) <= mounted
    [collector] = [each for each in config["scrape_configs"] if each["job_name"] == "collector"]
    targets = collector["static_configs"][0]["targets"]
    assert {port_of(target) for target in targets} <= set(observers["collector"]["expose"])


def test_grafana_finds_its_sources_and_the_dashboard(observers: dict[str, Any]) -> None:
    sources = {
        each["type"]: each["url"] for each in file("grafana/provisioning/datasources/headway.yml")["datasources"]
    }
    assert sources == {"prometheus": "http://prometheus:9090", "jaeger": "http://jaeger:16686"}
    assert {url.split("/")[2].split(":")[0] for url in sources.values()} <= set(observers)
    mounted = dict(volume.split(":")[:2] for volume in observers["grafana"]["volumes"])
    [provider] = file("grafana/provisioning/dashboards/headway.yml")["providers"]
    assert mounted["./deploy/grafana/dashboards"] == provider["options"]["path"]
    home = observers["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == provider["options"]["path"] + "/headway.json"
    assert (DEPLOY / "grafana" / "dashboards" / "headway.json").is_file()


def test_grafana_lets_people_look_and_nobody_change(observers: dict[str, Any]) -> None:
    environment = observers["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert environment["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"
