"""Which processes make up a mesh, with which environment."""

from __future__ import annotations

import socket

import pytest

from headway.cli.endpoints import SERVICES, Child, Composition, Wanted, compose, reachable, taken
from headway.settings import SettingsError

FREE = {f"HEADWAY_{name.upper()}_LISTEN": "127.0.0.1:0" for name in (*SERVICES, "simulators")}


def child(composition: Composition, name: str) -> Child:
    return next(each for each in composition.children if each.role.name == name)


def test_without_a_key_the_generator_and_retrieval_are_led_to_the_simulators() -> None:
    composition = compose(FREE, Wanted(scenario="zero", seed=7))
    simulators = child(composition, "simulators")
    port = simulators.address.rpartition(":")[2]
    assert simulators.arguments == ("--host", "127.0.0.1", "--port", port, "--scenario", "zero", "--seed", "7")
    generator = child(composition, "generator").environment
    assert generator["HEADWAY_ANTHROPIC_BASE_URL"] == f"http://127.0.0.1:{port}/anthropic"
    assert generator["HEADWAY_OPENAI_BASE_URL"] == f"http://127.0.0.1:{port}/openai/v1"
    assert generator["HEADWAY_ANTHROPIC_API_KEY"]
    assert child(composition, "retrieval").environment["HEADWAY_WEB_SEARCH_URL"] == f"http://127.0.0.1:{port}/web"
    assert "simulators, not from a model" in composition.answers_from


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HEADWAY_ANTHROPIC_API_KEY", "HEADWAY_OPENAI_API_KEY"]
)
def test_with_a_key_nothing_is_simulated_and_nothing_is_changed(name: str) -> None:
    composition = compose(FREE | {name: "real"}, Wanted())
    assert not composition.simulated
    assert [each.role.name for each in composition.children] == list(SERVICES)
    generator = child(composition, "generator").environment
    assert generator[name] == "real"
    assert not any(key.endswith("_BASE_URL") for key in generator)
    assert "simulators" not in composition.answers_from


def test_without_simulators_it_is_said_that_only_the_catalogue_writes() -> None:
    composition = compose(FREE, Wanted(simulators=False))
    assert "simulators" not in [each.role.name for each in composition.children]
    assert "from the catalogue alone" in composition.answers_from


def test_an_endpoint_without_a_key_is_said_to_have_no_effect() -> None:
    composition = compose(FREE | {"HEADWAY_OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}, Wanted())
    assert "HEADWAY_OPENAI_BASE_URL has no effect without a key" in composition.answers_from


def test_a_real_web_search_stays_beside_simulated_models() -> None:
    composition = compose(FREE | {"HEADWAY_TAVILY_API_KEY": "real"}, Wanted())
    assert "HEADWAY_WEB_SEARCH_URL" not in child(composition, "retrieval").environment


def test_neighbours_are_found_at_the_addresses_that_were_chosen() -> None:
    composition = compose(FREE | {"HEADWAY_GENERATOR_TARGET": "10.0.0.7:50054"}, Wanted())
    orchestrator = child(composition, "orchestrator").environment
    assert orchestrator["HEADWAY_ROUTER_TARGET"] == child(composition, "router").address
    assert orchestrator["HEADWAY_RETRIEVAL_TARGET"] == child(composition, "retrieval").address
    assert orchestrator["HEADWAY_GENERATOR_TARGET"] == "10.0.0.7:50054"
    assert not composition.children[-1].address.endswith(":0")


def test_only_what_is_wanted_is_started_and_simulators_just_for_those_that_call_them() -> None:
    assert [each.role.name for each in compose(FREE, Wanted(only=("router",))).children] == ["router"]
    names = [each.role.name for each in compose(FREE, Wanted(only=("generator",))).children]
    assert names == ["simulators", "generator"]


def test_a_proxy_for_the_web_does_not_come_between_the_parts() -> None:
    composition = compose(FREE | {"no_proxy": "intern.example", "http_proxy": "http://proxy:1"}, Wanted())
    assert child(composition, "generator").environment["no_proxy"] == "intern.example,127.0.0.1,localhost,::1"


def test_an_address_that_is_none_is_named_by_its_variable() -> None:
    with pytest.raises(SettingsError, match="HEADWAY_ROUTER_LISTEN"):
        compose({"HEADWAY_ROUTER_LISTEN": "50052"}, Wanted())


def test_a_port_in_use_is_named_with_the_variable_that_moves_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        composition = compose(FREE | {"HEADWAY_ROUTER_LISTEN": f"127.0.0.1:{port}"}, Wanted())
        (fault,) = taken(composition.children)
    assert f"port {port}" in fault
    assert "HEADWAY_ROUTER_LISTEN" in fault


def test_a_port_in_use_for_metrics_is_named_with_the_distance_that_moves_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        environment = FREE | {"HEADWAY_ROUTER_LISTEN": f"127.0.0.1:{port - 7}", "HEADWAY_METRICS_OFFSET": "7"}
        faults = taken(compose(environment, Wanted(only=("router",))).children)
    assert any(f"port {port}, for its metrics" in fault and "HEADWAY_METRICS_OFFSET" in fault for fault in faults)


def test_what_listens_everywhere_is_reached_on_this_machine() -> None:
    assert reachable("0.0.0.0:5") == "127.0.0.1:5"
    assert reachable("[::]:5") == "[::1]:5"
    assert reachable("10.0.0.1:5") == "10.0.0.1:5"
