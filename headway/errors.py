"""Every error that leaves a service, and its one translation to ``google.rpc.Status``.

``HeadwayError`` may be raised anywhere; only the error boundary of ``headway.interceptors`` turns it into a status,
so no other code calls ``abort``. Knows neither services nor stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2

DOMAIN = "headway"
"""The domain of every ErrorInfo."""


class Reason(StrEnum):
    """Reasons as clients see them in ``ErrorInfo.reason``; a name is never reused for something else."""

    INVALID_REQUEST = "INVALID_REQUEST"
    DEADLINE_EXPIRED = "DEADLINE_EXPIRED"
    OVERLOADED = "OVERLOADED"
    UPSTREAM_UNAVAILABLE = "UPSTREAM_UNAVAILABLE"
    NOT_READY = "NOT_READY"
    NOTHING_FOUND = "NOTHING_FOUND"
    NOT_CACHED = "NOT_CACHED"
    NOT_KEPT = "NOT_KEPT"
    INTERNAL = "INTERNAL"


CODES: dict[Reason, grpc.StatusCode] = {
    Reason.INVALID_REQUEST: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.DEADLINE_EXPIRED: grpc.StatusCode.DEADLINE_EXCEEDED,
    Reason.OVERLOADED: grpc.StatusCode.UNAVAILABLE,
    Reason.UPSTREAM_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    Reason.NOT_READY: grpc.StatusCode.UNAVAILABLE,
    Reason.NOTHING_FOUND: grpc.StatusCode.NOT_FOUND,
    Reason.NOT_CACHED: grpc.StatusCode.NOT_FOUND,
    Reason.NOT_KEPT: grpc.StatusCode.NOT_FOUND,
    Reason.INTERNAL: grpc.StatusCode.INTERNAL,
}


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One rule that a request breaks: the field's path and what is wrong with it."""

    field: str
    description: str


class HeadwayError(Exception):
    """An error with a reason that clients can rely on.

    ``message`` is for a person and says what to do. ``facts`` repeat every variable of the message, units in the key
    (``left_ms``). ``retry_after`` (seconds) becomes RetryInfo, ``violations`` become BadRequest.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        violations: Sequence[FieldViolation] = (),
        retry_after: float | None = None,
        **facts: object,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.violations = tuple(violations)
        self.retry_after = retry_after
        self.facts = {key: str(value) for key, value in facts.items()}


def invalid(violations: Iterable[FieldViolation]) -> HeadwayError:
    """The error for a malformed request; its message names each field."""
    listed = tuple(violations)
    text = "; ".join(f"{each.field or 'request'}: {each.description}" for each in listed)
    return HeadwayError(Reason.INVALID_REQUEST, f"invalid request: {text}", violations=listed)


def to_status(error: HeadwayError) -> status_pb2.Status:
    """The status with one ErrorInfo, and BadRequest or RetryInfo where the error has them."""
    details = [_packed(error_details_pb2.ErrorInfo(reason=error.reason.value, domain=DOMAIN, metadata=error.facts))]
    if error.violations:
        listed = [
            error_details_pb2.BadRequest.FieldViolation(field=each.field, description=each.description)
            for each in error.violations
        ]
        details.append(_packed(error_details_pb2.BadRequest(field_violations=listed)))
    if error.retry_after is not None:
        delay = duration_pb2.Duration()
        delay.FromNanoseconds(round(error.retry_after * 1e9))
        details.append(_packed(error_details_pb2.RetryInfo(retry_delay=delay)))
    code = getattr(code_pb2, CODES[error.reason].name)
    return status_pb2.Status(code=code, message=error.message, details=details)


def reason_of(error: grpc.RpcError) -> str:
    """The ``ErrorInfo.reason`` that a failed call carries, or an empty string when it carries none of ours."""
    trailing = getattr(error, "trailing_metadata", lambda: None)() or ()
    for key, value in trailing:
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            for detail in status.details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info) and info.domain == DOMAIN:
                    return str(info.reason)
    return ""


def _packed(message: object) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)  # type: ignore[arg-type]  # google.rpc publishes no types
    return packed
