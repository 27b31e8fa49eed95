"""What the headway command starts on one machine, against the settings and the names of the services."""

from __future__ import annotations

import importlib.util

import pytest

from headway.cli.endpoints import PROVIDER_KEYS, PROVIDER_URLS, ROLES, SERVICES, WEB_KEYS, MeshConfig, Wanted, compose
from headway.server import SharedConfig
from headway.settings import declared, read
from tests.unit.deployment_files import ROOT, config_of


def known() -> set[str]:
    return {each.variable for service in SERVICES for each in declared(config_of(service))}


def test_every_variable_that_decides_or_is_set_is_a_setting_of_some_service() -> None:
    named = {role.target for role in ROLES if role.target} | set(PROVIDER_KEYS) | set(PROVIDER_URLS) | set(WEB_KEYS)
    assert named - known() == set()


@pytest.mark.parametrize("service", SERVICES)
def test_the_command_and_the_service_agree_on_the_address(service: str) -> None:
    variable = next(role.variable for role in ROLES if role.name == service)
    of_command = {each.variable: each.default for each in declared(MeshConfig)}
    of_service = {each.variable: each.default for each in declared(config_of(service))}
    assert of_command[variable] == of_service[variable]


@pytest.mark.parametrize("service", SERVICES)
def test_the_name_that_is_asked_for_health_is_the_one_that_is_served(service: str) -> None:
    health = next(role.health for role in ROLES if role.name == service)
    assert f'"{health}"' in (ROOT / "services" / service / "__main__.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_the_module_that_is_started_exists(role: object) -> None:
    assert importlib.util.find_spec(f"{role.module}.__main__") is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": "sk"}], ids=["simulators", "a key"])
def test_each_service_accepts_the_environment_it_is_started_with(environment: dict[str, str]) -> None:
    listens = {role.variable: "127.0.0.1:0" for role in ROLES}
    for child in compose(environment | listens, Wanted()).children:
        if child.role.name in SERVICES:
            assert read(config_of(child.role.name), child.environment).listen == child.address
            read(SharedConfig, child.environment)
