"""Decides what all requests of one process share, and what forgetting it means. Composition; holds no rule
itself."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from simulators.connections import Connections
from simulators.draws import Draws
from simulators.faults import Chooser
from simulators.journal import Journal
from simulators.limits import Buckets
from simulators.prompt_cache import Machines, PromptCache
from simulators.queues import Queues
from simulators.scenario import Scenario
from simulators.schemas import Grammars
from simulators.turn import Fingerprint
from simulators.vector_index import Collections

MOST_FINGERPRINTS = 2_000


class Fingerprints:
    """The prompts of the latest answers, by the answer's identity."""

    def __init__(self) -> None:
        self._by_identity: OrderedDict[str, Fingerprint] = OrderedDict()

    def keep(self, identity: str, fingerprint: Fingerprint) -> None:
        """Remember one, and forget the oldest beyond the bound."""
        self._by_identity[identity] = fingerprint
        if len(self._by_identity) > MOST_FINGERPRINTS:
            self._by_identity.popitem(last=False)

    def of(self, name: str | None) -> Fingerprint | None:
        """The prompt whose answer had that id, whatever the provider put before it."""
        return self._by_identity.get(name[-24:]) if name else None

    def forget(self) -> None:
        """All of them."""
        self._by_identity.clear()


class Calendar:
    """The time by which things expire, fill and come round.

    It runs with the clock, and can be moved ahead of it: nobody can wait for a lifetime of an hour to end.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self._skipped = 0.0

    def now(self) -> float:
        """Seconds since the start, and those that were skipped."""
        return self._clock() - self._start + self._skipped

    def skip(self, seconds: float) -> None:
        """Move ahead; what is being sent meanwhile is not sent any sooner."""
        self._skipped += seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all requests of one process share."""

    scenario: Scenario
    clock: Callable[[], float]
    """The event loop's, by which everything is sent."""
    calendar: Calendar
    epoch: Callable[[], float]
    """The wall clock, for what is written as a date."""
    draws: Draws
    journal: Journal
    cache: PromptCache
    machines: Machines
    connections: Connections
    chooser: Chooser
    buckets: Buckets
    grammars: Grammars
    queues: Queues
    fingerprints: Fingerprints
    collections: Collections

    def pace(self) -> float:
        """By which factor everything is slower at this time of day: 1 + swing * cos(2 pi (t - peak) / period)."""
        day = self.scenario.day
        if not day.swing:
            return 1.0
        return 1.0 + day.swing * math.cos(2 * math.pi * (self.calendar.now() - day.peak) / day.period)

    def forget(self) -> None:
        """As if nothing had been asked; time goes on."""
        self.journal.reset()
        for each in (
            self.draws,
            self.cache,
            self.machines,
            self.chooser,
            self.buckets,
            self.grammars,
            self.fingerprints,
            self.collections,
        ):
            each.forget()


def world(
    scenario: Scenario, *, seed: int, clock: Callable[[], float], epoch: Callable[[], float] = time.time
) -> World:
    """A world in which nothing has happened yet; to be made on the event loop it will be used on."""
    calendar = Calendar(clock)
    return World(
        scenario=scenario,
        clock=clock,
        calendar=calendar,
        epoch=epoch,
        draws=Draws(seed=seed),
        journal=Journal(clock=clock),
        cache=PromptCache(),
        machines=Machines(requests_per_minute=scenario.cache_requests_per_minute),
        connections=Connections(),
        chooser=Chooser(scenario.faults),
        buckets=Buckets(clock=calendar.now),
        grammars=Grammars(),
        queues=Queues(scenario),
        fingerprints=Fingerprints(),
        collections=Collections(),
    )
