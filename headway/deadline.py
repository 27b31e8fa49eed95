"""Instants after which a caller no longer listens.

Decides what time is left and which of two deadlines is the stricter one. Knows nothing of calls, services or the wall
clock: the clock is a function that the caller passes in, and it must be monotonic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]
"""Seconds on a monotonic clock; only differences mean something."""

NO_DEADLINE_BEYOND = 365 * 24 * 3600.0
"""Seconds. The runtime reports a call without a deadline as a span of many years; no caller means one that long."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant on the local monotonic clock. Never leaves the process; on the wire travel spans."""

    instant: float
    clock: Clock = field(compare=False, repr=False)

    @classmethod
    def after(cls, span: float, clock: Clock) -> Deadline:
        """The deadline ``span`` seconds from now. A span of zero or less gives one that has passed."""
        return cls(clock() + span, clock)

    @classmethod
    def from_time_remaining(cls, time_remaining: float | None, clock: Clock) -> Deadline | None:
        """The deadline of an incoming call, or None when its caller set none.

        ``time_remaining`` is what the gRPC runtime says: None, or a span beyond any real one, means no deadline. What
        the wire may have added by rounding is taken off again: a hop may lose time but must never invent it.
        """
        if time_remaining is None or time_remaining > NO_DEADLINE_BEYOND:
            return None
        return cls.after(time_remaining - rounding_of(time_remaining), clock)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.instant - self.clock())

    def expired(self) -> bool:
        """True once nothing is left."""
        return self.clock() >= self.instant

    def before(self, span: float) -> Deadline:
        """The deadline ``span`` seconds earlier, for example to keep a reserve free."""
        return Deadline(self.instant - span, self.clock)


def rounding_of(span: float) -> float:
    """Seconds by which a span of that length may have grown on the wire.

    gRPC's C core writes a timeout with few digits and rounds it up: to 1 ms below a second, 10 ms below ten seconds,
    100 ms below a hundred, and so on (seen on the wire with grpcio 1.85; a test holds it).
    """
    step = 0.001
    while span >= step * 1000:
        step *= 10
    return step


def stricter(one: Deadline | None, other: Deadline | None) -> Deadline | None:
    """The earlier of two deadlines; None stands for no deadline and loses against any. Commutative."""
    if one is None:
        return other
    if other is None:
        return one
    return one if one.instant <= other.instant else other
