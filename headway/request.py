"""The request being served, as a value that follows its tasks.

Carries the deadline, the budget and the request id in one context variable: tasks started while a request is served
inherit it, work started with ``detached`` does not. Decides nothing about time beyond which deadline a request has.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, TypeVar

from headway.budget import Budget, effective_reserve
from headway.deadline import Clock, Deadline
from headway.ledger import Degraded, Stage
from headway.telemetry import NO_SPAN, Span, Telemetry

T = TypeVar("T")


class DeadlineSource(IntEnum):
    """Where the deadline came from; numbers of ``headway.v1.DeadlineSource``."""

    UNSPECIFIED = 0
    CALLER = 1
    DEFAULT = 2
    CLAMPED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestScope:
    """One request as its service sees it. ``arrived`` is a reading of ``clock``; ``deadline`` is always set."""

    request_id: str
    deadline: Deadline
    source: DeadlineSource
    budget: Budget
    arrived: float
    clock: Clock
    default_reserve: float = 0.05
    span: Span = NO_SPAN
    telemetry: Telemetry | None = None

    def spent(self) -> float:
        """Seconds since the request arrived here."""
        return self.clock() - self.arrived

    def reserve(self) -> float:
        """Seconds to keep free before the deadline: the budget's wish or the default, at most a fifth of the whole."""
        wish = self.default_reserve if self.budget.reserve is None else self.budget.reserve
        return effective_reserve(wish, self.deadline.instant - self.arrived)

    def record(self, stages: Iterable[Stage]) -> None:
        """Hands the stages that this service ran to traces and metrics; their times count from the arrival here."""
        listed = tuple(stages)
        self.span.ledger(listed, spent=self.spent())
        if self.telemetry is not None:
            self.telemetry.metrics.stages(listed)

    def record_degraded(self, degraded: Degraded) -> None:
        """Counts a degradation that this service decided."""
        if self.telemetry is not None:
            self.telemetry.metrics.degraded(degraded)


_CURRENT: contextvars.ContextVar[RequestScope | None] = contextvars.ContextVar("headway_request", default=None)


def current() -> RequestScope:
    """The request being served. Raises LookupError outside of one."""
    scope = _CURRENT.get()
    if scope is None:
        raise LookupError("no request is being served here")
    return scope


def current_or_none() -> RequestScope | None:
    """The request being served, or None outside of one, as in background work."""
    return _CURRENT.get()


@contextmanager
def serving(scope: RequestScope) -> Iterator[RequestScope]:
    """Makes ``scope`` the request being served, for this task and those started inside."""
    token = _CURRENT.set(scope)
    try:
        yield scope
    finally:
        _CURRENT.reset(token)


@contextmanager
def within(name: str, attributes: Mapping[str, str | int | float | bool]) -> Iterator[RequestScope]:
    """A part of the request being served, as a span of its own; calls made inside belong to it in traces.

    For use around awaits of one coroutine, never around a ``yield``.
    """
    scope = current()
    span = scope.span.child(name, attributes)
    error = ""
    try:
        with serving(replace(scope, span=span)) as inner:
            yield inner
    except BaseException as fault:
        error = type(fault).__name__
        raise
    finally:
        span.end(error=error)


def detached(tasks: asyncio.TaskGroup, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
    """Starts background work that inherits neither deadline nor budget of the request that caused it."""
    return tasks.create_task(work, name=name, context=contextvars.Context())


def deadline_of_call(
    time_remaining: float | None, *, default: float, longest: float, clock: Clock
) -> tuple[Deadline, DeadlineSource]:
    """The deadline to work with: the caller's, the default when it set none, the longest when it set a longer one."""
    asked = Deadline.from_time_remaining(time_remaining, clock)
    if asked is None:
        return Deadline.after(default, clock), DeadlineSource.DEFAULT
    most = Deadline.after(longest, clock)
    if most.instant < asked.instant:
        return most, DeadlineSource.CLAMPED
    return asked, DeadlineSource.CALLER
