"""Failed calls in one plain sentence that says what to do, and the exit code that goes with each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from headway.cli.terminal import harmless
from headway.errors import reason_of

OK = 0
FAILED = 1
USAGE = 2
UNREACHABLE = 69
OUT_OF_TIME = 124
INTERRUPTED = 130

_OPTION_OF_FIELD = {
    "locale": "--lang",
    "max_items": "--max-items",
    "sections": "--section",
    "first_item_within": "--first-item-within",
    "max_tier": "--max-tier",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What to say and the exit code to leave with."""

    message: str
    code: int


def unreachable(target: str) -> Problem:
    """Nothing answers at ``target``."""
    return Problem(
        message=f"No mesh answers at {target}. Start one with `headway up`, or name another with --target.",
        code=UNREACHABLE,
    )


def explain(error: grpc.aio.AioRpcError, *, target: str, deadline: float | None, events: int, items: int) -> Problem:
    """The problem behind a failed call of which so many events, and so many items among them, had arrived."""
    code, said = error.code(), harmless(error.details() or "")
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return Problem(message=f"The request was refused: {_fields(error) or said}.", code=FAILED)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return _late(deadline, items)
    if code is grpc.StatusCode.CANCELLED:
        return Problem(message=f"The mesh at {target} cancelled the call. Ask again.", code=FAILED)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        message = f"What listens at {target} is no orchestrator. Name the orchestrator's address with --target."
        return Problem(message=message, code=FAILED)
    if code is grpc.StatusCode.UNAVAILABLE and not reason_of(error):
        if not events:
            return unreachable(target)
        message = "The connection was lost in the middle of the answer. Look at `headway doctor`, then ask again."
        return Problem(message=message, code=FAILED)
    again = _again_after(error)
    advice = f"Try again in {again:.1f} s." if again is not None else "`headway doctor` says what is missing."
    return Problem(message=f"The call failed ({code.name}): {said.rstrip('.')}. {advice}", code=FAILED)


def _late(deadline: float | None, items: int) -> Problem:
    given = "the default deadline" if deadline is None else f"{deadline:g} s"
    if items:
        message = f"The answer broke off after {items} items: {given} had passed. Give more time with --deadline."
        return Problem(message=message, code=FAILED)
    return Problem(message=f"Nothing could be made within {given}. Give more time with --deadline.", code=OUT_OF_TIME)


def _fields(error: grpc.aio.AioRpcError) -> str:
    for detail in _details(error, error_details_pb2.BadRequest):
        named = []
        for each in detail.field_violations:
            option = _OPTION_OF_FIELD.get(each.field.partition("[")[0], each.field or "request")
            named.append(f"{option} {each.description}")
        return harmless("; ".join(named))
    return ""


def _again_after(error: grpc.aio.AioRpcError) -> float | None:
    for detail in _details(error, error_details_pb2.RetryInfo):
        return float(detail.retry_delay.ToNanoseconds() / 1e9)
    return None


def _details(error: grpc.aio.AioRpcError, kind: type[Any]) -> Iterator[Any]:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            for packed in status_pb2.Status.FromString(value).details:
                message = kind()
                if packed.Unpack(message):
                    yield message
