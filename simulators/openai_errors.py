"""Decides how OpenAI says no, and how much is left: errors, error events, limits and the headers of every response.

Shared by both endpoints; refuses to know requests and prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from simulators.scenario import Limits, Scenario
from simulators.turn import Level, Refused

PREPARED = {
    400: ("invalid_request_error", "invalid_value", "The request is not acceptable."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: (
        "invalid_request_error",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached. Please try again later."),
    503: ("service_unavailable_error", "server_is_overloaded", "The server is currently overloaded."),
}
FAILURES = {
    "overloaded": ("service_unavailable_error", "server_is_overloaded", "Our servers are currently overloaded."),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded", "Rate limit reached. Please try again later."),
    "server": ("server_error", "server_error", "The server had an error processing your request."),
}


def invalid(message: str, param: str | None, code: str | None = None) -> Refused:
    """A 400 in the provider's words."""
    return Refused(400, "invalid_request_error", message, param=param, code=code)


def prepared(status: int, *, code: str = "", message: str = "") -> Refused:
    """The provider's error of that status; an overload is 503 here, whatever number another provider has for it."""
    status = 503 if status == 529 else status
    kind, usual, words = PREPARED.get(status, ("server_error", "", "The server had an error processing your request."))
    if code == "insufficient_quota":
        kind, words = code, "You exceeded your current quota, please check your plan and billing details."
    return Refused(status, kind, message or words, code=code or usual or None)


def error_body(refused: Refused) -> dict[str, Any]:
    """The error as both endpoints write it."""
    return {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}


def failure_body(kind: str) -> dict[str, Any]:
    """An error inside a stream, as both endpoints write it."""
    name, code, message = FAILURES.get(kind, FAILURES["server"])
    return {"type": name, "code": code, "message": message, "param": None}


def response_headers(request_id: str, seconds: float) -> dict[str, str]:
    """The headers of every response."""
    return {
        "x-request-id": request_id,
        "openai-version": "2020-10-01",
        "openai-organization": "simulated",
        "openai-processing-ms": str(int(seconds * 1000)),
    }


def limit_headers(levels: Mapping[str, Level]) -> dict[str, str]:
    """`x-ratelimit-*`; the reset is a duration such as `12ms` or `6m0s`."""
    headers = {}
    for name, level in levels.items():
        headers[f"x-ratelimit-limit-{name}"] = str(level.limit)
        headers[f"x-ratelimit-remaining-{name}"] = str(level.remaining)
        headers[f"x-ratelimit-reset-{name}"] = duration(level.reset)
    return headers


def duration(seconds: float) -> str:
    """As the provider writes one: `0s`, `12ms`, `1.5s`, `6m0s`, `1h2m3s`."""
    if 0 < seconds < 1:
        return f"{max(1, round(seconds * 1000))}ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    return (
        (f"{hours}h" if hours else "")
        + (f"{minutes}m" if minutes or hours else "")
        + f"{rest:.3f}".rstrip("0").rstrip(".")
        + "s"
    )


def too_much(limit: str, wait: float, model: str) -> Refused:
    """429 with the wait in whole seconds and in milliseconds."""
    short = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}.get(limit, limit)
    refused = prepared(429, message=f"Rate limit reached for {model} on {short}. Please try again in {duration(wait)}.")
    refused.kind = limit
    refused.headers.update({"retry-after": str(max(1, ceil(wait))), "retry-after-ms": str(max(1, ceil(wait * 1000)))})
    return refused


def limits_of(scenario: Scenario) -> Limits:
    """The scenario's limits for this provider."""
    return scenario.openai_limits
