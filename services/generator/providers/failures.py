"""Gives every error of a provider its one name.

Decides by status, by the error's type and code, and in one case by its words: there is no code for a prompt that is
too long at Anthropic. Takes both shapes that errors have inside a stream, ``{"error": {...}}`` and ``{"type":
"error", "code": ...}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from services.generator.upstream import Failure, UpstreamError

DETAIL_CHARS = 300

_BY_KIND: Mapping[str, Failure] = {
    "authentication_error": Failure.UNAUTHORISED,
    "permission_error": Failure.UNAUTHORISED,
    "billing_error": Failure.UNAUTHORISED,
    "invalid_api_key": Failure.UNAUTHORISED,
    "account_deactivated": Failure.UNAUTHORISED,
    "rate_limit_error": Failure.RATE_LIMITED,
    "rate_limit_exceeded": Failure.RATE_LIMITED,
    "insufficient_quota": Failure.RATE_LIMITED,
    "RESOURCE_EXHAUSTED": Failure.RATE_LIMITED,
    "overloaded_error": Failure.OVERLOADED,
    "server_is_overloaded": Failure.OVERLOADED,
    "service_unavailable_error": Failure.OVERLOADED,
    "engine_overloaded": Failure.OVERLOADED,
    "UNAVAILABLE": Failure.OVERLOADED,
    "timeout_error": Failure.TIMEOUT,
    "context_length_exceeded": Failure.CONTEXT_LENGTH,
    "content_policy_violation": Failure.REFUSED,
    "content_filter": Failure.REFUSED,
    "invalid_prompt": Failure.REFUSED,
    "content_policy_violation_error": Failure.REFUSED,
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
# What has no code of its own everywhere is known by its words.
_TOO_LONG = (
    "prompt is too long",
    "input is too long",
    "maximum context length",
    "context window",
    "exceed context limit",
    "reduce the length",
)
_BLOCKED = ("content filtering policy", "content management policy", "was flagged", "input flagged")
_UNPAID = ("credit balance is too low",)


def of_response(status: int, body: object, headers: Mapping[str, str]) -> UpstreamError:
    """The error that a response with an error status means; ``body`` is its parsed JSON, or its text."""
    error = _error_object(body)
    failure = _BY_STATUS.get(status) or _named(error)
    if failure is None or (failure is Failure.BAD_REQUEST and status >= 500):
        failure = _plainly(status)
    return UpstreamError(
        _by_words(failure, error), f"status {status}: {_words(error)}", retry_after=retry_after(headers)
    )


def of_event(body: object) -> UpstreamError:
    """The error that an event inside a stream means, in either shape."""
    error = _error_object(body)
    failure = _by_number(error) or _named(error) or Failure.SERVER_ERROR
    return UpstreamError(_by_words(failure, error), f"inside the stream: {_words(error)}")


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
    """The innermost object that says what went wrong. Bodies may be text that is JSON, or a list of one."""
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        body = _parsed(body)
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping):
        inner = body.get("error")
        if isinstance(inner, Mapping):
            return inner
        return {"message": inner} if isinstance(inner, str) else body
    return {"message": str(body or "no details")}


def _parsed(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _named(error: Mapping[str, Any]) -> Failure | None:
    """By code first, which says more than the type."""
    for key in ("code", "type", "status"):
        name = error.get(key)
        if isinstance(name, str) and name in _BY_KIND:
            return _BY_KIND[name]
    return None


def _by_number(error: Mapping[str, Any]) -> Failure | None:
    """By the HTTP status that an error inside a stream would have had, where it says so."""
    for key in ("status_code", "code"):
        status = error.get(key)
        if isinstance(status, int) and 400 <= status < 600:
            return _BY_STATUS.get(status) or _named(error) or _plainly(status)
    return None


def _plainly(status: int) -> Failure:
    return Failure.SERVER_ERROR if status >= 500 else Failure.BAD_REQUEST


def _by_words(failure: Failure, error: Mapping[str, Any]) -> Failure:
    """What a request was refused for, where only its message says so."""
    if failure not in (Failure.BAD_REQUEST, Failure.UNAUTHORISED):
        return failure
    message = _message(error).lower()
    if any(words in message for words in _BLOCKED):
        return Failure.REFUSED
    if failure is Failure.UNAUTHORISED or any(words in message for words in _UNPAID):
        return Failure.UNAUTHORISED
    return Failure.CONTEXT_LENGTH if any(words in message for words in _TOO_LONG) else failure


def _message(error: Mapping[str, Any]) -> str:
    """What is said for a person; servers have several names for it."""
    return str(error.get("message") or error.get("detail") or error.get("msg") or "")


def _words(error: Mapping[str, Any]) -> str:
    parts = (error.get("type"), error.get("code"), _message(error))
    return " ".join(str(part) for part in parts if part)[:DETAIL_CHARS] or "no details"
