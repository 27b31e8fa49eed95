"""What a request leaves behind for those who watch: one span tree and the metrics.

Both are projections of the ledger. A span is never the "current" one of a task: it travels in the request scope and is
started and ended explicitly, because a current span held over a yield or a streamed write ends up in the wrong task.
With no endpoint configured nothing of OpenTelemetry is imported and spans are one shared object that does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from headway.ledger import Degraded, Stage
from headway.metrics import Metrics

TRACEPARENT = "traceparent"
"""Metadata key and HTTP header of the W3C trace context."""

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Span(Protocol):
    """One unit of work. ``end`` must be called once; after that the span takes nothing more."""

    def child(self, name: str, attributes: Mapping[str, str | int | float | bool]) -> Span:
        """A span below this one that begins now."""
        ...

    def ledger(self, stages: Iterable[Stage], *, spent: float) -> None:
        """Adds a span for each stage and attempt; their times count from ``spent`` seconds before now."""
        ...

    def note(self, attributes: Mapping[str, str | int | float | bool]) -> None:
        """Adds attributes."""
        ...

    def content(self, name: str, text: str) -> None:
        """Adds text of a prompt, query or item; kept only where recording of content is switched on."""
        ...

    def end(self, *, error: str = "") -> None:
        """Ends the span; ``error`` is a class of error, empty when it went well."""
        ...

    def traceparent(self) -> str:
        """The W3C header that makes a span elsewhere a child of this one; empty when nothing is traced."""
        ...

    def provider_headers(self) -> Mapping[str, str]:
        """Headers for a call to somebody outside of the mesh: the one above where that is switched on, else none."""
        ...


class NoSpan:
    """The span of a process that traces nothing."""

    def child(self, name: str, attributes: Mapping[str, str | int | float | bool]) -> Span:
        return self

    def ledger(self, stages: Iterable[Stage], *, spent: float) -> None:
        return

    def note(self, attributes: Mapping[str, str | int | float | bool]) -> None:
        return

    def content(self, name: str, text: str) -> None:
        return

    def end(self, *, error: str = "") -> None:
        return

    def traceparent(self) -> str:
        return ""

    def provider_headers(self) -> Mapping[str, str]:
        return NO_HEADERS


NO_SPAN: Span = NoSpan()


class Tracer(Protocol):
    """Starts the span of an incoming call."""

    def server_span(self, method: str, traceparent: str, attributes: Mapping[str, str | int | float | bool]) -> Span:
        """``method`` as gRPC writes it (``/package.Service/Method``), ``traceparent`` empty when the caller sent
        none.
        """
        ...

    def close(self) -> None:
        """Exports what is left, within a few seconds."""
        ...


class NoTracer:
    """Traces nothing."""

    def server_span(self, method: str, traceparent: str, attributes: Mapping[str, str | int | float | bool]) -> Span:
        return NO_SPAN

    def close(self) -> None:
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """The tracer and the metrics of one process."""

    tracer: Tracer
    metrics: Metrics

    def degraded(self, degraded: Degraded) -> None:
        """Counts a degradation."""
        self.metrics.degraded(degraded)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRules:
    """``endpoint`` is that of an OTLP/gRPC collector, empty for none; ``sample`` the share of requests traced, 0 to
    1; ``providers`` whether calls to providers carry the trace.
    """

    endpoint: str
    sample: float
    content: bool
    providers: bool = False


def tracer(service: str, rules: TraceRules) -> Tracer:
    """The tracer of a process: one that exports when there is an endpoint, else one that does nothing."""
    if not rules.endpoint:
        return NoTracer()
    from headway.telemetry_otlp import OtlpTracer  # imports what a process that traces nothing never pays for

    return OtlpTracer(service, rules)
