"""Who answers what, in which order: so that nothing but the technique differs between arms.

The run goes in rounds. In each round every arm answers the same query once, in an order of its own: whatever changes
slowly, on the machine or in the simulators, changes for all arms alike. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bench.arms.queries import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request. What is asked while warming up is not recorded."""

    arm: str
    query: Query
    recorded: bool


def turns(arms: Sequence[str], queries: Sequence[Query], *, rounds: int, warmup_rounds: int, rng: Random) -> list[Turn]:
    """The turns of a run in order. Queries come round in shuffled order, each as often as the others, give or take
    one."""
    order: list[Query] = []
    planned: list[Turn] = []
    for number in range(warmup_rounds + rounds):
        if not order:
            order = rng.sample(list(queries), len(queries))
        query = order.pop()
        planned += [
            Turn(arm=arm, query=query, recorded=number >= warmup_rounds) for arm in rng.sample(list(arms), len(arms))
        ]
    return planned
