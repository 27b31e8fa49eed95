"""Spans on their way to a collector that may be slow, gone, or not willing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Request
from opentelemetry.proto.trace.v1 import trace_pb2

from headway.span_export import BATCH, BATCH_BYTES, MOST_WAITING, Collector, Part, SpanSender, embedded
from headway.telemetry import TraceRules
from headway.telemetry_otlp import OtlpTracer, resource
from headway.testing import eventually
from tests.wire.collector import collecting


class Unwilling(grpc.RpcError):
    """What a stub raises when the collector answers with a status."""

    def __init__(self, code: grpc.StatusCode) -> None:
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code


class Script:
    """Takes batches, after raising what is listed first."""

    def __init__(self, *faults: Unwilling) -> None:
        self.faults = list(faults)
        self.batches: list[Request] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def __call__(self, request: bytes) -> None:
        assert self.may_go_on.wait(10)
        if self.faults:
            raise self.faults.pop(0)
        self.batches.append(Request.FromString(request))

    def names(self) -> list[str]:
        return [span.name for batch in self.batches for span in spans_of(batch)]


def spans_of(batch: Request) -> list[trace_pb2.Span]:
    return list(batch.resource_spans[0].scope_spans[0].spans)


@contextmanager
def sender(script: Script) -> Iterator[SpanSender]:
    made = SpanSender(script, resource("test"), interval=0.01)
    try:
        yield made
    finally:
        made.close()


def one(span: trace_pb2.Span) -> Part:
    return lambda: [span.SerializeToString()]


def named(number: int) -> Part:
    return one(trace_pb2.Span(name=str(number)))


def test_closing_sends_what_waits_in_order() -> None:
    script = Script()
    with sender(script) as spans:
        for number in range(2 * BATCH + 1):
            spans.add(named(number))
    assert script.names() == [str(number) for number in range(2 * BATCH + 1)]
    assert max(len(spans_of(batch)) for batch in script.batches) <= BATCH


def test_large_spans_travel_in_batches_that_collectors_take() -> None:
    script = Script()
    script.may_go_on.clear()
    with sender(script) as spans:
        for number in range(9):
            spans.add(one(trace_pb2.Span(name=str(number) + "x" * (BATCH_BYTES // 3))))
        script.may_go_on.set()
    assert len(script.names()) == 9
    assert all(batch.ByteSize() < 4 * 1024 * 1024 for batch in script.batches)


def test_a_batch_that_could_not_be_taken_now_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.span_export.AGAIN_AFTER", 0.01)
    script = Script(Unwilling(grpc.StatusCode.UNAVAILABLE))
    with structlog.testing.capture_logs() as logged, sender(script) as spans:
        spans.add(named(1))
        spans.add(named(2))
        asyncio.run(eventually(lambda: script.names() == ["1", "2"]))
    assert [each["event"] for each in logged] == [
        "the collector takes no spans",
        "the collector takes spans again",
    ]


def test_a_batch_that_will_never_be_taken_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.span_export.AGAIN_AFTER", 0.01)
    script = Script(Unwilling(grpc.StatusCode.UNIMPLEMENTED))
    with structlog.testing.capture_logs() as logged, sender(script) as spans:
        spans.add(named(1))
        asyncio.run(eventually(lambda: not script.faults))
        spans.add(named(2))
        asyncio.run(eventually(lambda: script.names() == ["2"]))
    assert {"event": "the collector takes spans again", "lost": 1, "log_level": "info"} in logged


def test_what_waits_is_bounded_and_the_rest_is_counted_as_lost() -> None:
    script = Script()
    script.may_go_on.clear()
    with structlog.testing.capture_logs() as logged, sender(script) as spans:
        for number in range(MOST_WAITING + 2 * BATCH):
            spans.add(named(number))
        script.may_go_on.set()
    sent = len(script.names())
    assert MOST_WAITING <= sent <= MOST_WAITING + BATCH
    assert {"event": "spans were lost", "spans": MOST_WAITING + 2 * BATCH - sent, "log_level": "warning"} in logged


def test_a_span_that_cannot_be_made_costs_no_other() -> None:
    def broken() -> list[bytes]:
        raise TypeError("an attribute of a kind that nobody knows")

    script = Script()
    with structlog.testing.capture_logs() as logged, sender(script) as spans:
        spans.add(named(1))
        spans.add(broken)
        spans.add(named(2))
    assert script.names() == ["1", "2"]
    assert [each["event"] for each in logged] == ["a span could not be made", "spans were lost"]


@pytest.mark.parametrize("scheme", ["http://", ""])
async def test_an_endpoint_is_written_with_its_scheme_or_without(scheme: str) -> None:
    async with collecting() as collector:
        to = Collector(scheme + collector.url.removeprefix("http://"))
        spans = SpanSender(to, resource("test"))
        spans.add(one(trace_pb2.Span(name="one", trace_id=b"1" * 16, span_id=b"2" * 8)))
        await asyncio.to_thread(spans.close)
        await asyncio.to_thread(to.close)
    [span] = collector.spans
    assert (span.name, span.service) == ("one", "headway-test")


async def test_a_collector_that_is_not_there_costs_spans_and_a_line_in_the_log_no_more() -> None:
    to = Collector("http://127.0.0.1:1")
    with structlog.testing.capture_logs() as logged:
        spans = SpanSender(to, resource("test"), interval=0.01)
        spans.add(named(1))
        await eventually(lambda: bool(logged))
        await asyncio.to_thread(spans.close)
    await asyncio.to_thread(to.close)
    assert [each["event"] for each in logged] == ["the collector takes no spans", "spans were lost"]


@given(st.lists(st.binary(max_size=40_000), max_size=5))
def test_what_is_embedded_reads_as_if_the_messages_had_been_put_together(names: list[bytes]) -> None:
    spans = [trace_pb2.Span(trace_id=name) for name in names]
    joined = b"".join(embedded(trace_pb2.ScopeSpans.SPANS_FIELD_NUMBER, span.SerializeToString()) for span in spans)
    assert trace_pb2.ScopeSpans.FromString(joined) == trace_pb2.ScopeSpans(spans=spans)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=12),
        st.one_of(st.text(max_size=200), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)),
        max_size=8,
    )
)
def test_attributes_arrive_as_they_were_noted(attributes: dict[str, str | bool | int | float]) -> None:
    sent: list[bytes] = []

    class Kept:
        def add(self, part: Part) -> None:
            sent.extend(part())

        def close(self) -> None: ...

    tracer = OtlpTracer("test", TraceRules(endpoint="x", sample=1.0, content=False), Kept())
    for _ in range(2):  # the second time most of it is not made anew
        span = tracer.server_span("/a.B/C", "", {})
        span.note(attributes)
        span.end()
    for raw in sent:
        found = {pair.key: pair.value for pair in trace_pb2.Span.FromString(raw).attributes}
        for key, value in attributes.items():
            kind = found[key].WhichOneof("value")
            assert kind is not None
            assert (type(getattr(found[key], kind)), getattr(found[key], kind)) == (type(value), value)
