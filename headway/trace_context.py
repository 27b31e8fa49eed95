"""The W3C trace context of one span, and the header that carries it.

Decides which headers are taken for one: https://www.w3.org/TR/trace-context/, version 00 and whatever later versions
add behind it. Pure; knows no span and no exporter.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 0x01


class TraceContext(NamedTuple):
    """``trace_id`` of 16 bytes, ``span_id`` of 8, and whether the trace is recorded."""

    trace_id: bytes
    span_id: bytes
    sampled: bool

    def header(self) -> str:
        """The value of ``traceparent``."""
        return f"00-{self.trace_id.hex()}-{self.span_id.hex()}-{'01' if self.sampled else '00'}"


def parsed(header: str) -> TraceContext | None:
    """The context that a ``traceparent`` header carries; None for what is no such header, as the standard wants it."""
    found = _HEADER.fullmatch(header)
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    trace_id, span_id = bytes.fromhex(trace), bytes.fromhex(span)
    if version == "ff" or (version == "00" and more) or not any(trace_id) or not any(span_id):
        return None
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


def chosen(trace_id: bytes, sample: float) -> bool:
    """Whether a trace that begins here is recorded: ``sample`` of all, the same ones wherever that is asked.

    By the lower half of the trace id, as OpenTelemetry's TraceIdRatioBased does it.
    """
    return int.from_bytes(trace_id[8:], "big") < round(sample * (1 << 64))
