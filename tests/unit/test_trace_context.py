"""The W3C trace context: what is taken for one, and which traces are recorded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.trace_context import TraceContext, chosen, parsed

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@given(
    trace_id=st.binary(min_size=16, max_size=16).filter(any),
    span_id=st.binary(min_size=8, max_size=8).filter(any),
    sampled=st.booleans(),
)
def test_a_context_survives_its_header(trace_id: bytes, span_id: bytes, sampled: bool) -> None:
    context = TraceContext(trace_id, span_id, sampled)
    assert parsed(context.header()) == context


@pytest.mark.parametrize(
    ("header", "sampled"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f"00-{TRACE}-{SPAN}-03", True),
        (f"cc-{TRACE}-{SPAN}-01", True),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", True),
    ],
)
def test_the_lowest_flag_says_whether_it_is_recorded(header: str, sampled: bool) -> None:
    context = parsed(header)
    assert context is not None
    assert (context.trace_id.hex(), context.span_id.hex(), context.sampled) == (TRACE, SPAN, sampled)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "garbage",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
        f" 00-{TRACE}-{SPAN}-01",
    ],
)
def test_what_is_no_header_of_the_standard_begins_a_trace_of_its_own(header: str) -> None:
    assert parsed(header) is None


@given(st.binary(min_size=16, max_size=16), st.floats(0, 1), st.floats(0, 1))
def test_a_trace_that_is_recorded_at_some_share_is_recorded_at_any_larger_one(
    trace_id: bytes, one: float, other: float
) -> None:
    smaller, larger = sorted((one, other))
    assert chosen(trace_id, larger) >= chosen(trace_id, smaller)
    assert chosen(trace_id, 1.0)
    assert not chosen(trace_id, 0.0)


def test_the_share_holds_over_many_traces() -> None:
    evenly = [bytes(8) + number.to_bytes(8, "big") for number in range(0, 1 << 64, 1 << 54)]
    assert sum(chosen(each, 0.25) for each in evenly) == len(evenly) / 4
