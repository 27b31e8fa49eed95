"""Gives every error of a provider its one name.

Decides by status, by the error's type and code, and in one case by its words: there is no code for a prompt that is
too long at Anthropic. Takes both shapes that errors have inside a stream, ``{"error": {...}}`` and ``{"type":
"error", "code": ...}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from services.generator.upstream import Failure, UpstreamError

DETAIL_CHARS = 300

_BY_KIND: Mapping[str, Failure] = {
    "authentication_error": Failure.UNAUTHORISED,
    "permission_error": Failure.UNAUTHORISED,
    "billing_error": Failure.UNAUTHORISED,
    "invalid_api_key": Failure.UNAUTHORISED,
    "rate_limit_error": Failure.RATE_LIMITED,
    "rate_limit_exceeded": Failure.RATE_LIMITED,
    "insufficient_quota": Failure.RATE_LIMITED,
    "overloaded_error": Failure.OVERLOADED,
    "server_is_overloaded": Failure.OVERLOADED,
    "service_unavailable_error": Failure.OVERLOADED,
    "engine_overloaded": Failure.OVERLOADED,
    "timeout_error": Failure.TIMEOUT,
    "context_length_exceeded": Failure.CONTEXT_LENGTH,
    "content_policy_violation": Failure.REFUSED,
    "content_filter": Failure.REFUSED,
    "invalid_prompt": Failure.REFUSED,
    "api_error": Failure.SERVER_ERROR,
    "server_error": Failure.SERVER_ERROR,
    "invalid_request_error": Failure.BAD_REQUEST,
    "not_found_error": Failure.BAD_REQUEST,
}
_BY_STATUS: Mapping[int, Failure] = {
    401: Failure.UNAUTHORISED,
    402: Failure.UNAUTHORISED,
    403: Failure.UNAUTHORISED,
    408: Failure.TIMEOUT,
    413: Failure.CONTEXT_LENGTH,
    429: Failure.RATE_LIMITED,
    503: Failure.OVERLOADED,
    504: Failure.TIMEOUT,
    529: Failure.OVERLOADED,
}
# Anthropic has no codes for these two.
_TOO_LONG = ("prompt is too long", "maximum context length", "context window")
_BLOCKED = ("content filtering policy",)


def of_response(status: int, body: object, headers: Mapping[str, str]) -> UpstreamError:
    """The error that a response with an error status means; ``body`` is its parsed JSON, or its text."""
    error = _error_object(body)
    failure = _BY_STATUS.get(status) or _named(error)
    if failure is None or (failure is Failure.BAD_REQUEST and status >= 500):
        failure = Failure.SERVER_ERROR if status >= 500 else Failure.BAD_REQUEST
    return UpstreamError(
        _by_words(failure, error), f"status {status}: {_words(error)}", retry_after=retry_after(headers)
    )


def of_event(body: object) -> UpstreamError:
    """The error that an event inside a stream means, in either shape."""
    error = _error_object(body)
    failure = _by_words(_named(error) or Failure.SERVER_ERROR, error)
    return UpstreamError(failure, f"inside the stream: {_words(error)}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks to wait, from ``retry-after-ms`` or ``retry-after`` (seconds, or a date, which
    is taken against the response's own ``date``)."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            return max(0.0, float(text) * unit)
        except ValueError:
            pass
    return _between(headers.get("date", ""), headers.get("retry-after", ""))


def _between(now: str, then: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds())
    except (ValueError, TypeError):  # no date, or only one of them with a time zone
        return None


def _error_object(body: object) -> Mapping[str, Any]:
    """The innermost object that says what went wrong."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        if isinstance(inner, Mapping):
            return inner
        return {"message": inner} if isinstance(inner, str) else body
    return {"message": str(body or "no details")}


def _named(error: Mapping[str, Any]) -> Failure | None:
    """By code first, which says more than the type."""
    for key in ("code", "type"):
        name = error.get(key)
        if isinstance(name, str) and name in _BY_KIND:
            return _BY_KIND[name]
    return None


def _by_words(failure: Failure, error: Mapping[str, Any]) -> Failure:
    """What a bad request was bad for, where only its message says so."""
    message = str(error.get("message")).lower()
    if failure is not Failure.BAD_REQUEST:
        return failure
    if any(words in message for words in _TOO_LONG):
        return Failure.CONTEXT_LENGTH
    return Failure.REFUSED if any(words in message for words in _BLOCKED) else failure


def _words(error: Mapping[str, Any]) -> str:
    parts = (error.get("type"), error.get("code"), error.get("message"))
    return " ".join(str(part) for part in parts if part)[:DETAIL_CHARS] or "no details"
