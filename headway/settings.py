"""Configuration as frozen dataclasses filled from a mapping of names to text.

A field is declared with ``setting(NAME, parse, default, doc)``. ``read`` fills a dataclass from any mapping (the
process environment in ``__main__``, a dict in tests) and reports every fault at once, by variable name. Nothing is
read at import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h)")


class SettingsError(ValueError):
    """Some settings cannot be used; the message has one line for each, by variable name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One setting as documented: variable name, default as text, meaning."""

    variable: str
    default: str
    doc: str
    secret: bool


def setting(variable: str, parse: Callable[[str], Any], default: str, doc: str, *, secret: bool = False) -> Any:
    """Declares a dataclass field that comes from ``variable``; ``default`` is text and parsed like any value.

    ``parse`` raises ValueError with a message that says what is allowed. Secrets are masked by ``effective``.
    """
    metadata = {"variable": variable, "parse": parse, "default": default, "doc": doc, "secret": secret}
    return field(default_factory=lambda: parse(default), metadata=metadata, repr=not secret)


def read(kind: type[T], environment: Mapping[str, str]) -> T:
    """Fills ``kind``. An empty value counts as unset. Raises SettingsError naming every variable at fault."""
    values: dict[str, Any] = {}
    faults: list[str] = []
    for each in fields(kind):  # type: ignore[arg-type]  # kind is a dataclass by contract
        if "variable" not in each.metadata:
            continue
        variable, parse = each.metadata["variable"], each.metadata["parse"]
        text = environment.get(variable, "").strip() or each.metadata["default"]
        try:
            values[each.name] = parse(text)
        except ValueError as fault:
            shown = "(hidden)" if each.metadata["secret"] else repr(text)
            faults.append(f"{variable}={shown}: {fault}")
    if faults:
        raise SettingsError("\n".join(faults))
    try:
        return kind(**values)
    except ValueError as fault:
        raise SettingsError(str(fault)) from fault


def declared(kind: type[Any]) -> Iterator[Declared]:
    """The settings of a dataclass, in order, for documentation."""
    for each in fields(kind):
        if "variable" in each.metadata:
            data = each.metadata
            yield Declared(variable=data["variable"], default=data["default"], doc=data["doc"], secret=data["secret"])


def effective(configuration: Any) -> dict[str, str]:
    """The values in force by variable name, secrets masked, for one log line at start."""
    shown: dict[str, str] = {}
    for each in fields(configuration):
        if "variable" not in each.metadata:
            continue
        value = getattr(configuration, each.name)
        shown[each.metadata["variable"]] = ("***" if value else "") if each.metadata["secret"] else str(value)
    return shown


def span(text: str) -> float:
    """Seconds from a span such as ``250ms``, ``5s`` or ``1.5m``. A bare number is refused: its unit is a guess."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError("write a span with its unit, for example 250ms, 5s or 2m")
    return float(match[1]) * _UNITS[match[2]]


def positive_span(text: str) -> float:
    """Like ``span``, but zero is refused."""
    seconds = span(text)
    if seconds <= 0:
        raise ValueError("must be longer than zero")
    return seconds


def whole(low: int, high: int) -> Callable[[str], int]:
    """A parser of whole numbers from ``low`` to ``high``."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"-?\d+", text) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return parse


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ValueError("must be a number from 0 to 1")
    return number


def switch(text: str) -> bool:
    """``on`` or ``off`` (also true/false, yes/no, 1/0)."""
    known = {
        "on": True,
        "true": True,
        "yes": True,
        "1": True,
        "off": False,
        "false": False,
        "no": False,
        "0": False,
    }
    if text.lower() not in known:
        raise ValueError("must be on or off")
    return known[text.lower()]


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser that accepts just these words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError("must be one of " + ", ".join(choices))
        return text

    return parse


def address(text: str) -> str:
    """``host:port``; port 0 lets the system choose."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError("must be host:port, for example 127.0.0.1:50051")
    return text


def addresses(text: str) -> str:
    """One ``host:port``, several with commas between, or a gRPC target with a scheme such as ``dns:///name:50052``."""
    if ":///" in text or text.startswith("unix:"):
        return text
    return ",".join(address(part.strip()) for part in text.split(","))


def words(text: str) -> str:
    """Any text, also none."""
    return text


def path(text: str) -> Path:
    """A path of the file system; it need not exist yet."""
    return Path(text)
