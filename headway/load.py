"""An open-loop load generator: sends when a request is due, not when the last answer came.

Decides when each call starts, what is measured of it and when a run must not be reported. Refuses to know what is
called: any coroutine function that takes the number of the call will do. Where arrivals come from is
``headway.load_arrivals``, what becomes of the figures ``headway.load_report``.

Latency counts from the instant at which a call was *due*. If the generator itself is held up, or the other side stalls,
the wait is part of what is measured and cannot be left out by sending later ("coordinated omission": Gil Tene, "How NOT
to measure latency", 2013). A generator that falls behind all the same measures itself: its figures are refused.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

from hdrh.histogram import HdrHistogram

from headway.deadline import Clock

LATE_LIMIT = 0.05
"""Seconds after which a send counts as late."""
LATE_SHARE = 0.01
"""Share of late sends above which a run is refused."""
HOPELESS = 20
"""So many times the limit late, a single send ends the run: it will not catch up."""
LONGEST_US = 3_600_000_000
SIGNIFICANT_DIGITS = 3


class CannotKeepRate(Exception):  # noqa: N818 - named for what is the case
    """The generator could not send as it was asked to, so there is nothing to report; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one call. ``first_item_at`` is a reading of the generator's clock, None without an item; ``error``
    is empty when the call ended well, else a code. ``degradations`` and ``tiers`` count by name.
    """

    first_item_at: float | None = None
    items: int = 0
    finish: str = ""
    error: str = ""
    degradations: Mapping[str, int] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)


Call = Callable[[int], Awaitable[Answer | None]]
"""The call of that number, from 0. It bounds its own time and turns the failures that it expects into ``Answer.error``;
it may return None when nothing but its time is of interest. What it raises ends the run."""

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long and how much. Spans in seconds; calls due before ``warmup`` are made but not recorded, those due within
    ``duration`` after it are, ``most`` of them at most. More than ``max_in_flight`` at once ends the run.
    """

    duration: float = inf
    warmup: float = 0.0
    most: int | None = None
    max_in_flight: int = 500
    deadline: float | None = None
    late_limit: float = LATE_LIMIT
    late_share: float = LATE_SHARE

    def __post_init__(self) -> None:
        if not self.duration > 0:
            raise ValueError("the duration must be longer than zero")
        if not (isfinite(self.warmup) and self.warmup >= 0):
            raise ValueError("the warm-up must not be shorter than zero")
        if self.max_in_flight < 1:
            raise ValueError("at least one call must be allowed in flight")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How a run stands: seconds since its start, calls sent, in flight and failed."""

    elapsed: float
    sent: int
    in_flight: int
    failed: int


class Recording:
    """What was measured. Histograms hold microseconds: ``first_item`` of calls with an item and ``total`` of calls that
    ended well, both from the instant at which the call was due; ``lateness`` of all sends.
    """

    def __init__(self) -> None:
        self.first_item = histogram()
        self.total = histogram()
        self.lateness = histogram()
        self.sent = 0
        self.late = 0
        self.items = 0
        self.inside_deadline = 0
        self.without_item = 0
        self.span = 0.0
        """Seconds over which the recorded calls were due."""
        self.errors: Counter[str] = Counter()
        self.finishes: Counter[str] = Counter()
        self.degradations: Counter[str] = Counter()
        self.tiers: Counter[str] = Counter()

    @property
    def failed(self) -> int:
        """Calls that ended with an error."""
        return self.errors.total()

    @property
    def failed_share(self) -> float:
        """Share of calls that ended with an error; 0 without any call."""
        return self.failed / self.sent if self.sent else 0.0

    def add(self, answer: Answer, *, due: float, ended: float, deadline: float | None) -> None:
        """Takes in one call."""
        self.degradations.update(answer.degradations)
        self.tiers.update(answer.tiers)
        self.items += answer.items
        if answer.first_item_at is not None:
            record(self.first_item, answer.first_item_at - due)
        if answer.error:
            self.errors[answer.error] += 1
            return
        record(self.total, ended - due)
        self.without_item += answer.first_item_at is None
        self.inside_deadline += deadline is None or ended - due <= deadline
        if answer.finish:
            self.finishes[answer.finish] += 1


def histogram() -> HdrHistogram:
    """An empty histogram for microseconds, up to an hour, to three digits."""
    return HdrHistogram(1, LONGEST_US, SIGNIFICANT_DIGITS)


def record(into: HdrHistogram, seconds: float) -> None:
    """Adds a span; one out of range counts as the nearest that fits."""
    into.record_value(min(max(1, round(seconds * 1e6)), LONGEST_US))


async def generate(
    call: Call,
    arrivals: Iterator[float],
    plan: Plan,
    *,
    clock: Clock = time.monotonic,
    sleep: Sleep = asyncio.sleep,
    watch: Callable[[Progress], None] | None = None,
) -> Recording:
    """Makes a call at each of ``arrivals`` (rising seconds from the start) and waits for the last to end.

    Raises CannotKeepRate, then without waiting for what is in flight, and whatever ``call`` raises, in an
    ExceptionGroup. Leaving early cancels what is in flight.
    """
    run = _Run(call, plan, clock, watch)
    async with asyncio.TaskGroup() as tasks:
        await run.send_all(tasks, arrivals, sleep)
    if not run.refusal:
        run.refusal = run.verdict()
    if run.refusal:
        raise CannotKeepRate(run.refusal)
    return run.recording


class _Run:
    def __init__(self, call: Call, plan: Plan, clock: Clock, watch: Callable[[Progress], None] | None) -> None:
        self._call = call
        self._plan = plan
        self._clock = clock
        self._watch = watch
        self._start = clock()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._number = 0
        self.recording = Recording()
        self.refusal = ""

    async def send_all(self, tasks: asyncio.TaskGroup, arrivals: Iterator[float], sleep: Sleep) -> None:
        plan, recording = self._plan, self.recording
        end = plan.warmup + plan.duration
        for offset in arrivals:
            if offset >= end:
                recording.span = plan.duration
                break
            due = self._start + offset
            while (wait := due - self._clock()) > 0:
                await sleep(wait)
            if len(self._in_flight) >= plan.max_in_flight:
                self._refuse(_full(plan.max_in_flight, offset))
                return
            recorded = offset >= plan.warmup
            self._send(tasks, due, recorded=recorded)
            if recorded:
                recording.sent += 1
                recording.span = offset - plan.warmup
            # So that a call starts when it is sent, also while this loop is behind and never waits.
            await asyncio.sleep(0)
            if self.refusal or (plan.most is not None and recording.sent >= plan.most):
                return

    def _send(self, tasks: asyncio.TaskGroup, due: float, *, recorded: bool) -> None:
        task = tasks.create_task(self._one(self._number, due, recorded=recorded), name=f"load.{self._number}")
        self._number += 1
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _one(self, number: int, due: float, *, recorded: bool) -> None:
        late = self._clock() - due
        if late > HOPELESS * self._plan.late_limit:
            self._refuse(f"A call was sent {late:.1f} s after it was due; the generator will not catch up.")
            return
        answer = await self._call(number) or Answer()
        ended = self._clock()
        if recorded:
            record(self.recording.lateness, late)
            self.recording.late += late > self._plan.late_limit
            self.recording.add(answer, due=due, ended=ended, deadline=self._plan.deadline)
        self._tell(ended)

    def _refuse(self, why: str) -> None:
        self.refusal = self.refusal or why
        for task in self._in_flight:
            task.cancel()

    def verdict(self) -> str:
        """Why the run must not be reported, once all calls have ended; else an empty string."""
        recording, plan = self.recording, self._plan
        if not recording.sent:
            return "No call was due after the warm-up. Measure for longer, or at a higher rate."
        if recording.late <= plan.late_share * recording.sent:
            return ""
        return (
            f"{recording.late} of {recording.sent} calls were sent more than {plan.late_limit * 1000:g} ms after they "
            f"were due; at most {plan.late_share:.0%} may be. The generator could not keep the rate."
        )

    def _tell(self, now: float) -> None:
        if self._watch is not None:
            in_flight = len(self._in_flight) - 1  # the one that tells has ended
            self._watch(
                Progress(
                    elapsed=now - self._start, sent=self._number, in_flight=in_flight, failed=self.recording.failed
                )
            )


def _full(most: int, offset: float) -> str:
    return (
        f"{most} calls were in flight {offset:.1f} s after the start and one more was due. Calls do not end as fast as "
        "they are sent: the rate is above what the other side can do, or the bound is too low."
    )
