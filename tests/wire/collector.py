"""A collector of OTLP traces over real gRPC that keeps what it gets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One span as exported."""

    service: str
    name: str
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    start: int
    end: int
    attributes: dict[str, Any]
    error: bool


@dataclass(slots=True)
class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Spans in the order in which they came; ``url`` is where to send them."""

    url: str = ""
    spans: list[Seen] = field(default_factory=list)

    async def Export(self, request: Any, context: Any) -> Any:
        for resource in request.resource_spans:
            service = _attributes(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_seen(service, span) for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans if span.name == name]

    def parent(self, span: Seen) -> Seen | None:
        return next((each for each in self.spans if each.span_id == span.parent_id), None)


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    collector.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(None)


def _seen(service: str, span: Any) -> Seen:
    return Seen(
        service=service,
        name=span.name,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_span_id,
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        error=span.status.code == 2,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
