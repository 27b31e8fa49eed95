"""Spans of OpenTelemetry, exported by OTLP.

Decides names and attributes: RPC and GenAI conventions as they stand, with the older names beside those that are
changing. Sampling is decided at the head: a sampled parent is followed, a root is sampled by ratio of its trace id.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headway.ledger import Attempt, Stage
from headway.telemetry import TRACEPARENT, Span, TraceRules

Attributes = Mapping[str, str | int | float | bool]
_PROPAGATOR = TraceContextTextMapPropagator()
_NANOSECONDS = 1_000_000_000
_WENT_WELL = frozenset({"ok", "stopped"})


class OtlpTracer:
    """Traces of one service; spans leave in batches from a thread of the SDK, never from the loop."""

    def __init__(self, service: str, rules: TraceRules, exporter: SpanExporter | None = None) -> None:
        resource = Resource.create({"service.name": f"headway-{service}", "service.namespace": "headway"})
        sampler = ParentBased(TraceIdRatioBased(rules.sample))
        self._provider = TracerProvider(resource=resource, sampler=sampler)
        chosen = exporter or OTLPSpanExporter(endpoint=rules.endpoint, insecure=not rules.endpoint.startswith("https"))
        self._provider.add_span_processor(BatchSpanProcessor(chosen))
        self._tracer = self._provider.get_tracer("headway")
        self._content = rules.content

    def server_span(self, method: str, traceparent: str, attributes: Attributes) -> Span:
        parent = _PROPAGATOR.extract({TRACEPARENT: traceparent}) if traceparent else None
        span = self._tracer.start_span(
            method.lstrip("/"), context=parent, kind=SpanKind.SERVER, attributes={**_rpc(method), **attributes}
        )
        return OtlpSpan(self._tracer, span, self._content) if span.is_recording() else Unsampled(span)

    def close(self) -> None:
        self._provider.force_flush(3_000)
        self._provider.shutdown()


class Unsampled:
    """A span that is not recorded but passes the decision on, so that the whole trace is left out."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def child(self, name: str, attributes: Attributes) -> Span:
        return self

    def ledger(self, stages: Iterable[Stage], *, spent: float) -> None:
        return

    def note(self, attributes: Attributes) -> None:
        return

    def content(self, name: str, text: str) -> None:
        return

    def end(self, *, error: str = "") -> None:
        return

    def traceparent(self) -> str:
        return _traceparent(self._span)


class OtlpSpan:
    """A recorded span."""

    def __init__(self, tracer: trace.Tracer, span: trace.Span, content: bool) -> None:
        self._tracer = tracer
        self._span = span
        self._content = content

    def child(self, name: str, attributes: Attributes) -> Span:
        span = self._tracer.start_span(name, context=trace.set_span_in_context(self._span), attributes=dict(attributes))
        return OtlpSpan(self._tracer, span, self._content)

    def ledger(self, stages: Iterable[Stage], *, spent: float) -> None:
        arrived = time.time_ns() - round(spent * _NANOSECONDS)
        for stage in stages:
            start = arrived + round(stage.started_after * _NANOSECONDS)
            span = self._tracer.start_span(
                stage.name,
                context=trace.set_span_in_context(self._span),
                start_time=start,
                attributes=_stage(stage),
            )
            for attempt in stage.attempts:
                self._attempt(span, attempt, start + round(attempt.started_after * _NANOSECONDS))
            span.end(start + round(stage.spent * _NANOSECONDS))

    def note(self, attributes: Attributes) -> None:
        self._span.set_attributes(dict(attributes))

    def content(self, name: str, text: str) -> None:
        if self._content:
            self._span.set_attribute(name, text)

    def end(self, *, error: str = "") -> None:
        if error:
            self._span.set_attribute("error.type", error)
            self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.end()

    def traceparent(self) -> str:
        return _traceparent(self._span)

    def _attempt(self, parent: trace.Span, attempt: Attempt, start: int) -> None:
        operation = "chat" if attempt.model else "retrieval"
        span = self._tracer.start_span(
            f"{operation} {attempt.model or attempt.backend}",
            context=trace.set_span_in_context(parent),
            kind=SpanKind.CLIENT,
            start_time=start,
            attributes=attempt_attributes(attempt),
        )
        if attempt.outcome not in _WENT_WELL:
            span.set_status(Status(StatusCode.ERROR, attempt.outcome))
        span.end(start + round(attempt.spent * _NANOSECONDS))


def attempt_attributes(attempt: Attempt) -> dict[str, str | int | float | bool]:
    """GenAI attributes of one attempt; ``cache_creation`` is the former name of ``cache_write``."""
    found: dict[str, str | int | float | bool] = {
        "gen_ai.operation.name": "chat" if attempt.model else "retrieval",
        "gen_ai.provider.name": attempt.backend,
        "headway.attempt.outcome": attempt.outcome,
    }
    if attempt.model:
        usage = attempt.usage
        found |= {
            "gen_ai.request.model": attempt.model,
            "gen_ai.request.stream": True,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
            "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
            "headway.cost_usd": usage.cost_usd,
        }
    if attempt.ttft is not None:
        found["gen_ai.response.time_to_first_chunk"] = attempt.ttft
    if attempt.outcome not in _WENT_WELL:
        found["error.type"] = attempt.outcome
    return found


def _stage(stage: Stage) -> dict[str, str | int | float | bool]:
    found: dict[str, str | int | float | bool] = {"headway.stage": stage.name, "headway.rung": stage.rung}
    if stage.reason:
        found["headway.reason"] = stage.reason
    if stage.allowance is not None:
        found["headway.allowance"] = stage.allowance
    return found


def _rpc(method: str) -> dict[str, str]:
    full = method.lstrip("/")
    service = full.rpartition("/")[0]
    # rpc.system and rpc.service are former names. rpc.method used to be the short name and is the full one now; a key
    # can
    # have one value only, so the new meaning wins.
    return {"rpc.system.name": "grpc", "rpc.system": "grpc", "rpc.service": service, "rpc.method": full}


def _traceparent(span: trace.Span) -> str:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context=trace.set_span_in_context(span))
    return carrier.get(TRACEPARENT, "")
