"""Decides whether a table of a scenario file is well formed, and collects every fault of it; refuses to know what
the fields mean."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from simulators.latency import Constant, Latency, parse


class ScenarioError(Exception):
    """A scenario cannot be used; `faults` says everything that is wrong with it, one sentence each."""

    def __init__(self, source: str, faults: list[str]) -> None:
        super().__init__(f"scenario {source}: " + "; ".join(faults))
        self.source = source
        self.faults = tuple(faults)


class Table:
    """One table being read. Each getter takes a key away; `close` reports the keys that nobody asked for."""

    def __init__(self, values: object, *, where: str, faults: list[str], folder: Path) -> None:
        self._where = where
        self._faults = faults
        self._folder = folder
        if not isinstance(values, Mapping):
            faults.append(f"{where} must be a table")
            values = {}
        self._values: dict[str, object] = dict(values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def latency(self, key: str, default: float = 0.0) -> Latency:
        """A latency; see `simulators.latency` for how one is written."""
        value = self._values.pop(key, default)
        try:
            return parse(value, folder=self._folder)
        except ValueError as error:
            self._fault(key, str(error))
            return Constant(seconds=0.0)

    def number(self, key: str, default: float, *, low: float = 0.0, high: float = math.inf) -> float:
        """A number within `low` and `high`."""
        value = self._values.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self._fault(key, f"must be a number from {low:g} to {high:g}, not {value!r}")
            return default
        return float(value)

    def whole(self, key: str, default: int, *, low: int = 0) -> int:
        """A whole number of at least `low`."""
        value = self._values.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            self._fault(key, f"must be a whole number of at least {low}, not {value!r}")
            return default
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text; required when there is no default."""
        value = self._values.pop(key, default)
        if not isinstance(value, str) or (default is None and not value):
            self._fault(key, "must be a text" if key in self._values or value is not None else "is missing")
            return default or ""
        return value

    def path(self, key: str) -> Path:
        """A file, looked for from the scenario's folder."""
        return self._folder / self.text(key)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self._values.pop(key, default)
        if not isinstance(value, bool):
            self._fault(key, f"must be true or false, not {value!r}")
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty when the key is not there."""
        value = self._values.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self._fault(key, "must be a list of texts")
            return ()
        return tuple(value)

    def table(self, key: str) -> Table:
        """The table under `key`, empty when the key is not there."""
        return Table(self._values.pop(key, {}), where=self._place(key), faults=self._faults, folder=self._folder)

    def named(self, key: str) -> Iterator[tuple[str, Table]]:
        """The tables under `key`, by name."""
        value = self._values.pop(key, {})
        if not isinstance(value, Mapping):
            self._fault(key, "must be a table of tables")
            return
        for name, values in value.items():
            yield name, Table(values, where=self._place(f"{key}.{name}"), faults=self._faults, folder=self._folder)

    def tables(self, key: str) -> Iterator[Table]:
        """The array of tables under `key`."""
        value = self._values.pop(key, [])
        if not isinstance(value, list):
            self._fault(key, "must be an array of tables")
            return
        for place, values in enumerate(value):
            yield Table(values, where=self._place(f"{key}[{place}]"), faults=self._faults, folder=self._folder)

    def rest(self) -> dict[str, object]:
        """Everything nobody asked for yet; taken away."""
        values, self._values = self._values, {}
        return values

    def close(self) -> None:
        """Report what is left over: a key nobody knows is a mistake, not a comment."""
        for key in self._values:
            self._fault(key, "is not known")

    def fault(self, message: str) -> None:
        """Report something that is wrong with the table as a whole."""
        self._faults.append(f"{self._where}: {message}" if self._where else message)

    def _fault(self, key: str, message: str) -> None:
        self._faults.append(f"{self._place(key)} {message}")

    def _place(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key
