"""Settings: every fault at once, by name, and no secret shown."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from headway.server import SharedConfig
from headway.settings import SettingsError, address, addresses, effective, positive_span, read, setting, span, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    wait: float = setting("EXAMPLE_WAIT", positive_span, "250ms", "how long")
    many: int = setting("EXAMPLE_MANY", whole(1, 9), "3", "how many")
    key: str = setting("EXAMPLE_KEY", str, "", "who asks", secret=True)


def test_defaults_are_parsed_like_any_value() -> None:
    assert read(Example, {}) == Example(wait=0.25, many=3, key="")


def test_every_fault_is_reported_at_once_by_variable_name() -> None:
    with pytest.raises(SettingsError) as fault:
        read(Example, {"EXAMPLE_WAIT": "250", "EXAMPLE_MANY": "12"})
    assert "EXAMPLE_WAIT='250'" in str(fault.value)
    assert "EXAMPLE_MANY='12'" in str(fault.value)
    assert "from 1 to 9" in str(fault.value)


def test_secrets_are_masked_where_the_effective_values_are_shown() -> None:
    config = read(Example, {"EXAMPLE_KEY": "sk-very-secret"})
    assert effective(config) == {"EXAMPLE_WAIT": "0.25", "EXAMPLE_MANY": "3", "EXAMPLE_KEY": "***"}
    assert "sk-very-secret" not in repr(config)


def test_values_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(SettingsError, match="HEADWAY_DEFAULT_DEADLINE"):
        read(SharedConfig, {"HEADWAY_DEFAULT_DEADLINE": "2m"})


@pytest.mark.parametrize(("text", "seconds"), [("250ms", 0.25), ("5s", 5.0), ("1.5m", 90.0), ("0s", 0.0), ("1h", 3600)])
def test_spans_carry_their_unit(text: str, seconds: float) -> None:
    assert span(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["5", "", "-1s", "1d", "five seconds"])
def test_spans_without_a_known_unit_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unit"):
        span(text)


@pytest.mark.parametrize("text", ["localhost", ":50051", "host:", "host:port", "host:99999"])
def test_addresses_need_host_and_port(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        address(text)


def test_several_addresses_and_names_with_a_scheme_are_targets() -> None:
    assert addresses("a:1, b:2") == "a:1,b:2"
    assert addresses("dns:///router:50052") == "dns:///router:50052"
