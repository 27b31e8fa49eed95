"""Decides which faults there are, how one is asked for, and to which request it applies. Refuses to know what each
one does.

Asked for in a scenario (`[[faults]]`) or by the request header `x-simulate: name;parameter=value, name`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random

HEADER = "x-simulate"
NO_FAULTS = "none"
"""In the header: this request is spared the scenario's faults."""

Value = float | str

NEVER = math.inf
MOST_COUNTED = 10_000

KINDS: Mapping[str, Mapping[str, Value]] = {
    # Instead of an answer.
    "error": {"status": 500.0},
    "overloaded": {},
    "rate_limited": {"retry_after": -1.0, "form": "seconds", "code": "", "should_retry": ""},
    "unauthorized": {},
    "context_length": {},
    "content_policy": {},
    "never_answers": {"seconds": 120.0},
    # When things happen.
    "slow_headers": {"seconds": 2.0},
    "slow_first_token": {"seconds": 20.0},
    "slow_drip": {"seconds": 0.5},
    "stall": {"tokens": 20.0, "items": -1.0, "seconds": 30.0},
    # How the connection ends.
    "reset": {"tokens": -1.0, "items": -1.0},
    "close": {"tokens": 40.0, "items": -1.0},
    "error_in_stream": {"tokens": 0.0, "items": -1.0, "kind": "overloaded", "shape": ""},
    "no_end_marker": {},
    # What is in the stream besides the answer.
    "retry_after_on_success": {"seconds": 25.0},
    "pings": {"seconds": 0.05},
    "comments": {"seconds": 0.05},
    "unknown_events": {"every": 5.0},
    "crlf": {},
    "split_bytes": {"size": 1.0},
    "malformed_event": {"nth": 10.0},
    "malformed_body": {},
    # What the model writes.
    "truncated": {"tokens": 40.0},
    "refusal": {"tokens": 0.0},
    "thinking": {"tokens": 40.0},
    "split_tokens": {"characters": 1.0},
    "unicode_escapes": {},
    "awkward_text": {},
    "code_fence": {},
    "prose": {},
    "trailing_comma": {},
    "repeated_items": {"items": 1.0},
    "unknown_sources": {"items": 1.0},
    "no_sources": {"items": 1.0},
    # What the web search finds.
    "no_results": {},
    "hostile_results": {},
}
"""Every fault with its parameters and their defaults. Below 0 stands for: not set; where both may be, items go
before tokens."""

CONDITIONS: Mapping[str, Value] = {
    "endpoint": "*",
    "model": "*",
    "chance": 1.0,
    "times": NEVER,
    "since": 0.0,
    "until": NEVER,
    "tag": "",
}
"""Parameters that every fault has: to which requests it applies. `tag` only keeps the count of `times` apart from
others'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault, asked for."""

    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    conditions: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, values: Mapping[str, object]) -> Fault:
        """The fault of that name with those parameters; `ValueError` says what is unknown or not of its kind."""
        if name not in KINDS:
            raise ValueError(f"fault {name!r} is not known; there are {', '.join(sorted(KINDS))}")
        known = {**KINDS[name], **CONDITIONS}
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(f"fault {name} has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        read = {key: _value(name, key, value, known[key]) for key, value in values.items()}
        return cls(
            name=name,
            parameters={key: read.get(key, default) for key, default in KINDS[name].items()},
            conditions={key: read.get(key, default) for key, default in CONDITIONS.items()},
        )

    def number(self, key: str) -> float:
        """A parameter that is a number."""
        return float(self.parameters[key])

    def whole(self, key: str) -> int:
        """A parameter that is a whole number."""
        return int(float(self.parameters[key]))

    def text(self, key: str) -> str:
        """A parameter that is a text."""
        return str(self.parameters[key])


class Faults(Mapping[str, Fault]):
    """The faults of one request, by name."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._by_name = {fault.name: fault for fault in faults}

    def __getitem__(self, name: str) -> Fault:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


NONE = Faults()


class Chooser:
    """Decides which faults apply to a request; counts how often each has."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._standing = tuple(faults)
        self._applied: Counter[str] = Counter()

    def choose(self, header: str | None, *, endpoint: str, model: str, now: float, rng: Random) -> Faults:
        """The scenario's faults and the header's, as far as their conditions hold; of two with one name the
        header's.

        `ValueError` says what is wrong with the header.
        """
        asked = parsed(header) if header else ()
        if not asked and not self._standing:
            return NONE
        standing = () if header and header.strip() == NO_FAULTS else self._standing
        return Faults(
            fault
            for fault in (*standing, *asked)
            if self._applies(fault, endpoint=endpoint, model=model, now=now, rng=rng)
        )

    def forget(self) -> None:
        """Count afresh."""
        self._applied.clear()

    def _applies(self, fault: Fault, *, endpoint: str, model: str, now: float, rng: Random) -> bool:
        on = fault.conditions
        holds = (
            fnmatchcase(endpoint, str(on["endpoint"]))
            and fnmatchcase(model, str(on["model"]))
            and float(on["since"]) <= now < float(on["until"])
        )
        if not holds or (on["chance"] != 1.0 and rng.random() >= float(on["chance"])):
            return False
        if on["times"] == NEVER:
            return True
        key = repr(fault)
        self._applied[key] += 1
        if len(self._applied) > MOST_COUNTED:
            del self._applied[next(iter(self._applied))]
        return self._applied[key] <= float(on["times"])


def parsed(header: str) -> tuple[Fault, ...]:
    """The faults that a header asks for: `name;parameter=value;..., name`. `ValueError` says what is wrong with
    it."""
    faults = []
    for part in header.split(","):
        name, *pairs = (each.strip() for each in part.split(";"))
        if name and name != NO_FAULTS:
            faults.append(Fault.of(name, dict(_pair(pair) for pair in pairs if pair)))
    return tuple(faults)


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise ValueError(f"{text!r} is not of the form parameter=value")
    return key.strip(), value.strip()


def _value(name: str, key: str, value: object, default: Value) -> Value:
    if isinstance(default, str):
        return str(value)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"fault {name}: {key} must be a number, not {value!r}")
    return number
