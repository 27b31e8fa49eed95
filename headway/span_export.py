"""Sends finished spans to an OTLP collector, in batches, from a thread of its own.

Decides how many spans may wait, what is tried again and what is given up. The loop of the service never waits for the
collector, and a collector that is gone costs spans, never requests.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import grpc
import structlog
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

Request = trace_service_pb2.ExportTraceServiceRequest
Send = Callable[[Request], None]
"""Hands a batch to the collector. Raises grpc.RpcError."""

MOST_WAITING = 8_192
"""Spans; what comes while as many wait is lost, and the loss is logged."""
BATCH = 512
BATCH_BYTES = 2_000_000
"""Collectors refuse messages above 4 MiB as they come; content makes spans large."""
INTERVAL = 1.0
AGAIN_AFTER = 5.0
EXPORT_TIMEOUT = 5.0
CLOSE_WITHIN = 3.0
_AGAIN = {
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DATA_LOSS,
}
"""What the OTLP specification calls worth trying again."""


class SpanSender:
    """Takes spans from any thread. ``resource`` is who they are of."""

    def __init__(self, send: Send, resource: resource_pb2.Resource, *, interval: float = INTERVAL) -> None:
        self._send = send
        self._resource = resource
        self._interval = interval
        self._waiting: deque[trace_pb2.Span] = deque()
        self._lost = 0
        self._failing = False
        self._closing = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def add(self, span: trace_pb2.Span) -> None:
        """Takes a finished span; returns at once."""
        if len(self._waiting) >= MOST_WAITING:
            self._lost += 1
            return
        self._waiting.append(span)
        if len(self._waiting) == BATCH and not self._failing:
            self._wake.set()

    def close(self) -> None:
        """Sends what waits, within some seconds, and ends the thread. Blocks."""
        self._closing = True
        self._wake.set()
        self._thread.join(CLOSE_WITHIN)
        if left := len(self._waiting) + self._lost:
            structlog.get_logger().warning("spans were lost", spans=left)

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(AGAIN_AFTER if self._failing else self._interval)
            self._wake.clear()
            self._send_waiting()

    def _send_waiting(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            try:
                self._send(self._request(batch))
            except grpc.RpcError as fault:
                self._failed(batch, fault.code())  # calls of stubs raise their call object
                return
            self._delivered()

    def _next_batch(self) -> list[trace_pb2.Span]:
        batch: list[trace_pb2.Span] = []
        size = 0
        while self._waiting and len(batch) < BATCH:
            size += self._waiting[0].ByteSize()
            if batch and size > BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        return batch

    def _request(self, batch: list[trace_pb2.Span]) -> Request:
        scope = common_pb2.InstrumentationScope(name="headway")
        spans = trace_pb2.ScopeSpans(scope=scope, spans=batch)
        return Request(resource_spans=[trace_pb2.ResourceSpans(resource=self._resource, scope_spans=[spans])])

    def _failed(self, batch: list[trace_pb2.Span], code: grpc.StatusCode) -> None:
        if code in _AGAIN:
            self._waiting.extendleft(reversed(batch))
        else:
            self._lost += len(batch)
        if not self._failing:
            self._failing = True
            structlog.get_logger().warning("the collector takes no spans", code=code.name, waiting=len(self._waiting))

    def _delivered(self) -> None:
        if self._failing:
            lost, self._lost = self._lost, 0
            structlog.get_logger().info("the collector takes spans again", lost=lost)
        self._failing = False


class Collector:
    """An OTLP/gRPC collector at ``http://host:port``, ``https://host:port`` or ``host:port``. Use as ``Send``."""

    def __init__(self, endpoint: str) -> None:
        scheme, _, rest = endpoint.rpartition("://")
        target = rest.rstrip("/")
        secure = scheme == "https"
        self._channel = (
            grpc.secure_channel(target, grpc.ssl_channel_credentials()) if secure else grpc.insecure_channel(target)
        )
        self._stub = trace_service_pb2_grpc.TraceServiceStub(self._channel)  # type: ignore[no-untyped-call]

    def __call__(self, request: Request) -> None:
        answer = self._stub.Export(request, timeout=EXPORT_TIMEOUT)
        if refused := answer.partial_success.rejected_spans:
            why = answer.partial_success.error_message
            structlog.get_logger().warning("the collector refused spans", spans=refused, why=why)

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()
