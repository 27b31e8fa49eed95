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
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from headway.ledger import Attempt, Stage
from headway.span_export import Collector, Part, SpanSender
from headway.telemetry import NO_HEADERS, TRACEPARENT, Span, TraceRules
from headway.trace_context import TraceContext, chosen, parsed

Value = str | int | float | bool
Attributes = Mapping[str, Value]
CONTENT_CHARACTERS = 16_384
"""Longest text that is recorded; what is longer is cut."""
WORD_CHARACTERS = 64
"""Longer texts are not kept for the next span."""
_NANOSECONDS = 1_000_000_000
_WENT_WELL = frozenset({"ok", "stopped"})
_INTERNAL, _SERVER, _CLIENT = (
    trace_pb2.Span.SPAN_KIND_INTERNAL,
    trace_pb2.Span.SPAN_KIND_SERVER,
    trace_pb2.Span.SPAN_KIND_CLIENT,
)


class Sink(Protocol):
    """Where finished spans go."""

    def add(self, part: Part) -> None: ...

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
        trace_id = parent.trace_id if parent else self._random.getrandbits(128).to_bytes(16, "big")
        sampled = parent.sampled if parent else chosen(trace_id, self.rules.sample)
        context = TraceContext(trace_id, self.new_id(), sampled)
        if not sampled:
            return Unsampled(context, self.rules)
        above = parent.span_id if parent else b""
        return OtlpSpan(self, context, above, method, _SERVER, attributes)

    def new_id(self) -> bytes:
        """The id of a span."""
        return self._random.getrandbits(64).to_bytes(8, "big")

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

    __slots__ = ("_above", "_attributes", "_context", "_end", "_error", "_kind", "_name", "_start", "_tracer")

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
        self._tracer.sink.add(partial(self._stages, tuple(stages), arrived))

    def note(self, attributes: Attributes) -> None:
        self._attributes.update(attributes)

    def content(self, name: str, text: str) -> None:
        if self._tracer.rules.content:
            self._attributes[name] = text[:CONTENT_CHARACTERS].encode(errors="replace").decode()

    def end(self, *, error: str = "") -> None:
        self._error = error
        self._end = time.time_ns()
        self._tracer.sink.add(self._itself)

    def traceparent(self) -> str:
        return self._context.header()

    def provider_headers(self) -> Mapping[str, str]:
        return {TRACEPARENT: self.traceparent()} if self._tracer.rules.providers else NO_HEADERS

    def _itself(self) -> list[bytes]:
        """This span, serialized; called once, after its end."""
        attributes = self._attributes
        if self._kind == _SERVER:
            attributes = {**_rpc(self._name), **attributes}
        if self._error:
            attributes["error.type"] = self._error
        name = self._name.lstrip("/")
        made = _message(self._context, self._above, name, self._kind, self._start, self._end)
        return [_serialized(made, attributes, self._error)]

    def _stages(self, stages: Iterable[Stage], arrived: int) -> Iterator[bytes]:
        """A span for each stage and attempt, serialized; ``arrived`` in nanoseconds since 1970."""
        for stage in stages:
            start = arrived + round(stage.started_after * _NANOSECONDS)
            context = TraceContext(self._context.trace_id, self._tracer.new_id(), sampled=True)
            end = start + round(stage.spent * _NANOSECONDS)
            made = _message(context, self._context.span_id, stage.name, _INTERNAL, start, end)
            yield _serialized(made, _stage(stage), "")
            for attempt in stage.attempts:
                yield self._attempt(attempt, context.span_id, start + round(attempt.started_after * _NANOSECONDS))

    def _attempt(self, attempt: Attempt, above: bytes, began: int) -> bytes:
        context = TraceContext(self._context.trace_id, self._tracer.new_id(), sampled=True)
        attributes = attempt_attributes(attempt)
        name = f"{attributes['gen_ai.operation.name']} {attempt.model or attempt.backend}"
        made = _message(context, above, name, _CLIENT, began, began + round(attempt.spent * _NANOSECONDS))
        failure = "" if attempt.outcome in _WENT_WELL else attempt.outcome
        return _serialized(made, attributes, failure)


def resource(service: str) -> resource_pb2.Resource:
    """Who the spans of this process are of."""
    found = resource_pb2.Resource()
    try:
        release = version("headway")
    except PackageNotFoundError:  # run from a folder that was not installed
        release = ""
    names = {"service.name": f"headway-{service}", "service.namespace": "headway", "service.version": release}
    for key, value in {**names, "service.instance.id": os.urandom(8).hex()}.items():
        _add(found, key, value)
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


def _serialized(made: trace_pb2.Span, attributes: Attributes, error: str) -> bytes:
    """The span as it travels.

    Most attributes are a few words that come again with every span, so they are serialized once and put behind it: what
    follows a serialized message is merged into it, and repeated fields grow.
    """
    words = []
    for key, value in attributes.items():
        if (len(value) <= WORD_CHARACTERS) if isinstance(value, str) else not value:
            words.append(_word(key, value))
        else:
            _add(made, key, value)
    if error:
        made.status.code = trace_pb2.Status.STATUS_CODE_ERROR
        made.status.message = error
    return made.SerializeToString() + b"".join(words)


@lru_cache(maxsize=4096, typed=True)
def _word(key: str, value: Value) -> bytes:
    made = trace_pb2.Span()
    _add(made, key, value)
    return made.SerializeToString()


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


def _add(to: trace_pb2.Span | resource_pb2.Resource, key: str, value: Value) -> None:
    holder = to.attributes.add(key=key).value
    if isinstance(value, str):
        holder.string_value = value
    elif isinstance(value, bool):
        holder.bool_value = value
    elif isinstance(value, int):
        holder.int_value = value
    else:
        holder.double_value = value
