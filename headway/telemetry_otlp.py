"""Spans as OTLP messages.

Decides names and attributes: RPC and GenAI conventions as they stand, with the older names beside those that are
changing. Sampling is decided at the head: a sampled parent is followed, a root is sampled by ratio of its trace id.
Spans are made from OpenTelemetry's protocol messages, not by its SDK, which costs six times as much
(docs/decisions/0004-spans-without-the-sdk.md).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from headway.ledger import Attempt, Stage
from headway.span_export import Collector, SpanSender
from headway.telemetry import NO_HEADERS, TRACEPARENT, Span, TraceRules
from headway.trace_context import TraceContext, chosen, parsed

Value = str | int | float | bool
Attributes = Mapping[str, Value]
CONTENT_CHARACTERS = 16_384
"""Longest text that is recorded; what is longer is cut."""
_NANOSECONDS = 1_000_000_000
_WENT_WELL = frozenset({"ok", "stopped"})
_INTERNAL, _SERVER, _CLIENT = (
    trace_pb2.Span.SPAN_KIND_INTERNAL,
    trace_pb2.Span.SPAN_KIND_SERVER,
    trace_pb2.Span.SPAN_KIND_CLIENT,
)


class Sink(Protocol):
    """Where finished spans go."""

    def add(self, span: trace_pb2.Span) -> None: ...

    def close(self) -> None: ...


class OtlpTracer:
    """Traces of one service."""

    def __init__(self, service: str, rules: TraceRules, sink: Sink | None = None) -> None:
        self._collector = Collector(rules.endpoint) if sink is None else None
        self.sink = sink or SpanSender(self._collector, resource(service))  # type: ignore[arg-type]  # one is set
        self.rules = rules
        self._random = random.Random(os.urandom(32))

    def server_span(self, method: str, traceparent: str, attributes: Attributes) -> Span:
        parent = parsed(traceparent) if traceparent else None
        trace_id = parent.trace_id if parent else self._random.randbytes(16)
        sampled = parent.sampled if parent else chosen(trace_id, self.rules.sample)
        context = TraceContext(trace_id, self.new_id(), sampled)
        if not sampled:
            return Unsampled(context, self.rules)
        above = parent.span_id if parent else b""
        return OtlpSpan(self, context, above, method.lstrip("/"), _SERVER, {**_rpc(method), **attributes})

    def new_id(self) -> bytes:
        """The id of a span."""
        return self._random.randbytes(8)

    def close(self) -> None:
        self.sink.close()
        if self._collector is not None:
            self._collector.close()


class Unsampled:
    """A span that is not recorded but passes the decision on, so that the whole trace is left out."""

    def __init__(self, context: TraceContext, rules: TraceRules) -> None:
        self._context = context
        self._rules = rules

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
        return self._context.header()

    def provider_headers(self) -> Mapping[str, str]:
        return {TRACEPARENT: self.traceparent()} if self._rules.providers else NO_HEADERS


class OtlpSpan:
    """A recorded span."""

    __slots__ = ("_above", "_attributes", "_context", "_kind", "_name", "_start", "_tracer")

    def __init__(
        self, tracer: OtlpTracer, context: TraceContext, above: bytes, name: str, kind: int, attributes: Attributes
    ) -> None:
        self._tracer = tracer
        self._context = context
        self._above = above
        self._name = name
        self._kind = kind
        self._attributes = dict(attributes)
        self._start = time.time_ns()

    def child(self, name: str, attributes: Attributes) -> Span:
        context = TraceContext(self._context.trace_id, self._tracer.new_id(), sampled=True)
        return OtlpSpan(self._tracer, context, self._context.span_id, name, _INTERNAL, attributes)

    def ledger(self, stages: Iterable[Stage], *, spent: float) -> None:
        arrived = time.time_ns() - round(spent * _NANOSECONDS)
        for stage in stages:
            start = arrived + round(stage.started_after * _NANOSECONDS)
            below = self._add(self._context.span_id, stage.name, _INTERNAL, start, stage.spent, _stage(stage))
            for attempt in stage.attempts:
                began = start + round(attempt.started_after * _NANOSECONDS)
                failure = "" if attempt.outcome in _WENT_WELL else attempt.outcome
                attributes = attempt_attributes(attempt)
                name = f"{attributes['gen_ai.operation.name']} {attempt.model or attempt.backend}"
                self._add(below, name, _CLIENT, began, attempt.spent, attributes, failure)

    def note(self, attributes: Attributes) -> None:
        self._attributes.update(attributes)

    def content(self, name: str, text: str) -> None:
        if self._tracer.rules.content:
            self._attributes[name] = text[:CONTENT_CHARACTERS].encode(errors="replace").decode()

    def end(self, *, error: str = "") -> None:
        if error:
            self._attributes["error.type"] = error
        made = _message(self._context, self._above, self._name, self._kind, self._start, time.time_ns())
        self._tracer.sink.add(_filled(made, self._attributes, error))

    def traceparent(self) -> str:
        return self._context.header()

    def provider_headers(self) -> Mapping[str, str]:
        return {TRACEPARENT: self.traceparent()} if self._tracer.rules.providers else NO_HEADERS

    def _add(
        self, above: bytes, name: str, kind: int, start: int, spent: float, attributes: Attributes, error: str = ""
    ) -> bytes:
        """A span that is over already; returns its id."""
        context = TraceContext(self._context.trace_id, self._tracer.new_id(), sampled=True)
        made = _message(context, above, name, kind, start, start + round(spent * _NANOSECONDS))
        self._tracer.sink.add(_filled(made, attributes, error))
        return context.span_id


def resource(service: str) -> resource_pb2.Resource:
    """Who the spans of this process are of."""
    found = resource_pb2.Resource()
    try:
        release = version("headway")
    except PackageNotFoundError:  # run from a folder that was not installed
        release = ""
    names = {"service.name": f"headway-{service}", "service.namespace": "headway", "service.version": release}
    _write(found, {**names, "service.instance.id": os.urandom(8).hex()})
    return found


def attempt_attributes(attempt: Attempt) -> dict[str, Value]:
    """GenAI attributes of one attempt; ``cache_creation`` is the former name of ``cache_write``."""
    found: dict[str, Value] = {
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


def _message(context: TraceContext, above: bytes, name: str, kind: int, start: int, end: int) -> trace_pb2.Span:
    """A finished span; ``start`` and ``end`` in nanoseconds since 1970."""
    return trace_pb2.Span(
        trace_id=context.trace_id,
        span_id=context.span_id,
        parent_span_id=above,
        name=name,
        kind=kind,  # type: ignore[arg-type]  # a number of the enum
        start_time_unix_nano=start,
        end_time_unix_nano=end,
    )


def _filled(made: trace_pb2.Span, attributes: Attributes, error: str) -> trace_pb2.Span:
    _write(made, attributes)
    if error:
        made.status.code = trace_pb2.Status.STATUS_CODE_ERROR
        made.status.message = error
    return made


def _stage(stage: Stage) -> dict[str, Value]:
    found: dict[str, Value] = {"headway.stage": stage.name, "headway.rung": stage.rung}
    if stage.reason:
        found["headway.reason"] = stage.reason
    if stage.allowance is not None:
        found["headway.allowance"] = stage.allowance
    return found


def _rpc(method: str) -> dict[str, str]:
    full = method.lstrip("/")
    service = full.rpartition("/")[0]
    # rpc.system and rpc.service are former names. rpc.method used to be the short name and is the full one now; a key
    # can have one value only, so the new meaning wins.
    return {"rpc.system.name": "grpc", "rpc.system": "grpc", "rpc.service": service, "rpc.method": full}


def _write(to: trace_pb2.Span | resource_pb2.Resource, attributes: Attributes) -> None:
    add = to.attributes.add
    for key, value in attributes.items():
        holder = add(key=key).value
        if isinstance(value, str):
            holder.string_value = value
        elif isinstance(value, bool):
            holder.bool_value = value
        elif isinstance(value, int):
            holder.int_value = value
        else:
            holder.double_value = value
