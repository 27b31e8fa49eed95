"""Sends finished spans to an OTLP collector, in batches, from a thread of its own.

Decides how many spans may wait, what is tried again and what is given up. Spans are also made in that thread, many at
once: among the work of requests, where nothing of it is in the processor's caches, each takes three times as long. The
loop of the service never waits for the collector, and a collector that is gone costs spans, never requests.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import grpc
import structlog
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

Send = Callable[[bytes], None]
"""Hands a serialized ExportTraceServiceRequest to the collector. Raises grpc.RpcError."""

Part = Callable[[], Iterable[bytes]]
"""Makes some finished spans, serialized."""

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

MOST_WAITING = 8_192
"""Parts; what comes while as many wait is lost, and the loss is logged."""
BATCH = 512
BATCH_BYTES = 2_000_000
"""Collectors refuse messages above 4 MiB as they come; content makes spans large."""
INTERVAL = 5.0
"""Each batch costs a call, whatever is in it; spans of a quiet service can wait for company."""
AGAIN_AFTER = 5.0
AT_A_STRETCH = 16
"""Parts that are made before the loop of the service gets its turn: some tenths of a millisecond."""
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
    """Takes parts of traces from any thread. ``resource`` is who they are of."""

    def __init__(self, send: Send, resource: resource_pb2.Resource, *, interval: float = INTERVAL) -> None:
        self._send = send
        self._resource = trace_pb2.ResourceSpans(resource=resource).SerializeToString()
        self._scope = trace_pb2.ScopeSpans(scope=common_pb2.InstrumentationScope(name="headway")).SerializeToString()
        self._interval = interval
        self._waiting: deque[Part] = deque()
        self._made: deque[bytes] = deque()
        self._lost = 0
        self._failing = False
        self._closing = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def add(self, part: Part) -> None:
        """Takes what is finished; returns at once."""
        if len(self._waiting) + len(self._made) >= MOST_WAITING:
            self._lost += 1
            return
        self._waiting.append(part)
        if len(self._waiting) == BATCH and not self._failing:
            self._wake.set()

    def close(self) -> None:
        """Sends what waits, within some seconds, and ends the thread. Blocks."""
        self._closing = True
        self._wake.set()
        self._thread.join(CLOSE_WITHIN)
        if left := len(self._waiting) + len(self._made) + self._lost:
            structlog.get_logger().warning("spans were lost", spans=left)

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(AGAIN_AFTER if self._failing else self._interval)
            self._wake.clear()
            self._send_waiting()

    def _send_waiting(self) -> None:
        while self._waiting or self._made:
            self._make()
            batch = self._next_batch()
            if not batch:
                continue
            try:
                self._send(self._request(batch))
            except grpc.RpcError as fault:
                self._failed(batch, fault.code())  # calls of stubs raise their call object
                return
            self._delivered()

    def _make(self) -> None:
        """Makes spans for a batch, as far as there are any."""
        for number in itertools.count(1):
            if not self._waiting or len(self._made) >= BATCH:
                return
            try:
                self._made.extend(self._waiting.popleft()())
            except Exception:  # noqa: BLE001 - logged whole; it would end the thread, and all tracing with it
                self._lost += 1
                structlog.get_logger().exception("a span could not be made")
            if number % AT_A_STRETCH == 0:
                time.sleep(0)

    def _next_batch(self) -> list[bytes]:
        batch: list[bytes] = []
        size = 0
        while self._made and len(batch) < BATCH:
            size += len(self._made[0])
            if batch and size > BATCH_BYTES:
                break
            batch.append(self._made.popleft())
        return batch

    def _request(self, batch: list[bytes]) -> bytes:
        """The batch inside of its scope, resource and request. The messages would copy every span; fields may as well
        be put behind one another.
        """
        spans = self._scope + b"".join(embedded(SPANS, span) for span in batch)
        return embedded(RESOURCE_SPANS, self._resource + embedded(SCOPE_SPANS, spans))

    def _failed(self, batch: list[bytes], code: grpc.StatusCode) -> None:
        if code in _AGAIN:
            self._made.extendleft(reversed(batch))
        else:
            self._lost += len(batch)
        if not self._failing:
            self._failing = True
            structlog.get_logger().warning("the collector takes no spans", code=code.name, waiting=len(self._made))

    def _delivered(self) -> None:
        if self._failing:
            lost, self._lost = self._lost, 0
            structlog.get_logger().info("the collector takes spans again", lost=lost)
        self._failing = False


SPANS = trace_pb2.ScopeSpans.SPANS_FIELD_NUMBER
SCOPE_SPANS = trace_pb2.ResourceSpans.SCOPE_SPANS_FIELD_NUMBER
RESOURCE_SPANS = trace_service_pb2.ExportTraceServiceRequest.RESOURCE_SPANS_FIELD_NUMBER


def embedded(number: int, message: bytes) -> bytes:
    """A serialized message as field ``number`` of another: tag, length in base 128 with the lowest digits first, bytes
    (https://protobuf.dev/programming-guides/encoding/). ``number`` below 16.
    """
    head = bytearray([number << 3 | 2])
    length = len(message)
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + message


class Collector:
    """An OTLP/gRPC collector at ``http://host:port``, ``https://host:port`` or ``host:port``. Use as ``Send``."""

    def __init__(self, endpoint: str) -> None:
        scheme, _, rest = endpoint.rpartition("://")
        target = rest.rstrip("/")
        secure = scheme == "https"
        self._channel = (
            grpc.secure_channel(target, grpc.ssl_channel_credentials()) if secure else grpc.insecure_channel(target)
        )
        answer = trace_service_pb2.ExportTraceServiceResponse
        self._export: Callable[..., Any] = self._channel.unary_unary(EXPORT, response_deserializer=answer.FromString)

    def __call__(self, request: bytes) -> None:
        answer = self._export(request, timeout=EXPORT_TIMEOUT)
        if refused := answer.partial_success.rejected_spans:
            why = answer.partial_success.error_message
            structlog.get_logger().warning("the collector refused spans", spans=refused, why=why)

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()
