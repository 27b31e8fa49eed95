"""Decides which error status a request gets instead of an answer, by the faults that were asked for. Pure.

Refuses to know how a provider writes an error (the dialect does).
"""

from __future__ import annotations

from email.utils import formatdate
from math import ceil

from simulators.faults import Fault, Faults
from simulators.turn import Call, Dialect, Refused


def refused(faults: Faults, dialect: Dialect, call: Call, *, epoch: float) -> Refused | None:
    """The error for a call, None when it gets an answer. `epoch` is the wall clock, for a date in `retry-after`."""
    if "unauthorized" in faults:
        return dialect.error(401)
    if "rate_limited" in faults:
        return _rate_limited(faults["rate_limited"], dialect, epoch)
    if "overloaded" in faults:
        return dialect.error(529)
    if "error" in faults:
        return dialect.error(faults["error"].whole("status"))
    if "content_policy" in faults:
        return dialect.error(400, code="content_policy_violation", message="Output blocked by content filtering policy")
    if "context_length" in faults or call.prefix.total_tokens > call.model.context_tokens:
        return _too_long(dialect, call)
    return None


def _rate_limited(fault: Fault, dialect: Dialect, epoch: float) -> Refused:
    refusal = dialect.error(429, code=fault.text("code"))
    refusal.headers.update(retry_after(fault.number("retry_after"), fault.text("form"), epoch))
    if fault.text("should_retry"):
        refusal.headers["x-should-retry"] = fault.text("should_retry")
    return refusal


def retry_after(seconds: float, form: str, epoch: float) -> dict[str, str]:
    """The header that says how long to wait, in one of the forms that occur; below 0 seconds there is none."""
    if seconds < 0:
        return {}
    if form == "ms":
        return {"retry-after-ms": str(ceil(seconds * 1000))}
    if form == "date":
        return {"retry-after": formatdate(epoch + seconds, usegmt=True)}
    return {"retry-after": f"{seconds:g}"}


def _too_long(dialect: Dialect, call: Call) -> Refused:
    size, most = call.prefix.total_tokens, call.model.context_tokens
    if size <= most:
        size = most + size
    if dialect.endpoint.startswith("anthropic"):
        return dialect.error(400, message=f"prompt is too long: {size} tokens > {most} maximum")
    message = f"This model's maximum context length is {most} tokens. However, your messages resulted in {size} tokens."
    return dialect.error(400, code="context_length_exceeded", message=message)
