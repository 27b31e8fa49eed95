"""Which techniques an arm uses, as a value, and the arms in their order.

Decides names and order. Refuses to know how a technique is carried out (`bench.arms.pipeline`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

NAIVE = "naive"
MESH = "mesh"
FLOOR = "floor"
ALONE = "alone_"
"""Before the name of a technique: the naive arm with that one and no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Techniques:
    """The techniques, in the order in which they are added."""

    pooling: bool = False
    """Connections are kept and warmed; without, each call opens its own."""
    local: bool = False
    """The query is embedded and the catalogue searched in the process; without, by two services over HTTP."""
    parallel: bool = False
    """The catalogue and the web are searched at once, the web with a time limit; without, one after the other."""
    compressed: bool = False
    """Records are cut to the facts that a prompt needs; without, whole pages go in."""
    prompt_cache: bool = False
    """The static part stands first and is marked for the cache; without, it begins with the time of day."""
    item_streaming: bool = False
    """Items are taken out of the stream as they are completed; without, the whole answer is awaited."""
    lean_schema: bool = False
    """Only the fields that are shown; without, all twelve."""
    divide: bool = False
    """One call for each section, side by side; without, one for all."""
    early_start: bool = False
    """Writing begins on what the catalogue had, the last item waits for the web; without, all waits for both."""
    tiering: bool = False
    """Simple queries go to the small model; without, all go to the large one."""


STEPS = tuple(each.name for each in fields(Techniques))


def ladder() -> Mapping[str, Techniques]:
    """The arms that run here, by name: naive, then one technique more with each."""
    arms = {NAIVE: Techniques()}
    last = arms[NAIVE]
    for step in STEPS:
        last = arms[step] = replace(last, **{step: True})
    return arms


def alone() -> Mapping[str, Techniques]:
    """The naive arm with a single technique, by name."""
    return {ALONE + step: replace(Techniques(), **{step: True}) for step in STEPS}


def names(*, with_alone: bool) -> tuple[str, ...]:
    """All arms in the order in which they are reported."""
    return (*ladder(), MESH, FLOOR, *(alone() if with_alone else ()))
