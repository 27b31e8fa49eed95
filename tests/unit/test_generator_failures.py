"""Every error of a provider has one name, whatever shape it comes in."""

from __future__ import annotations

import pytest

from headway.ledger import Degradation
from services.generator.providers.failures import of_event, of_response, retry_after
from services.generator.upstream import DEGRADATIONS, Failure


def anthropic(kind: str, message: str = "m", **details: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message, "details": details or None}}


def openai(code: str | None, kind: str = "invalid_request_error", message: str = "m") -> dict[str, object]:
    return {"message": message, "type": kind, "param": None, "code": code}  # the SDK has taken "error" off


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (401, anthropic("authentication_error"), Failure.UNAUTHORISED),
        (402, anthropic("billing_error"), Failure.UNAUTHORISED),
        (403, anthropic("permission_error"), Failure.UNAUTHORISED),
        (429, anthropic("rate_limit_error"), Failure.RATE_LIMITED),
        (529, anthropic("overloaded_error"), Failure.OVERLOADED),
        (500, anthropic("api_error"), Failure.SERVER_ERROR),
        (504, anthropic("timeout_error"), Failure.TIMEOUT),
        (400, anthropic("invalid_request_error"), Failure.BAD_REQUEST),
        (400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens"), Failure.CONTEXT_LENGTH),
        (400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), Failure.REFUSED),
        (413, anthropic("request_too_large"), Failure.CONTEXT_LENGTH),
        (404, anthropic("not_found_error"), Failure.BAD_REQUEST),
        (401, openai("invalid_api_key"), Failure.UNAUTHORISED),
        (429, openai("rate_limit_exceeded", "requests"), Failure.RATE_LIMITED),
        (429, openai("insufficient_quota", "insufficient_quota"), Failure.RATE_LIMITED),
        (400, openai("context_length_exceeded"), Failure.CONTEXT_LENGTH),
        (400, openai("content_policy_violation"), Failure.REFUSED),
        (400, openai(None), Failure.BAD_REQUEST),
        (500, openai(None, "server_error"), Failure.SERVER_ERROR),
        (503, openai(None, "server_error"), Failure.OVERLOADED),
        (502, "<html>Bad gateway</html>", Failure.SERVER_ERROR),
        (500, openai(None, "invalid_request_error"), Failure.SERVER_ERROR),
        (418, None, Failure.BAD_REQUEST),
    ],
)
def test_a_response_is_named_by_its_status_and_what_it_says(status: int, body: object, failure: Failure) -> None:
    assert of_response(status, body, {}).failure is failure


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (anthropic("overloaded_error"), Failure.OVERLOADED),
        (anthropic("rate_limit_error"), Failure.RATE_LIMITED),
        ({"error": {"type": "server_error", "message": "m"}}, Failure.SERVER_ERROR),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": None}, Failure.RATE_LIMITED),
        (
            {"type": "error", "error": {"type": "service_unavailable_error", "code": "server_is_overloaded"}},
            Failure.OVERLOADED,
        ),
        ({"error": "the model crashed"}, Failure.SERVER_ERROR),
        ({"error": {"message": "m", "code": 502}}, Failure.SERVER_ERROR),
    ],
)
def test_an_error_inside_a_stream_is_named_in_either_shape(body: object, failure: Failure) -> None:
    assert of_event(body).failure is failure


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:05 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 5.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:05 GMT"}, None),
        ({"retry-after": "tomorrow", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, None),
    ],
)
def test_the_time_to_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_every_failure_has_a_reason_that_callers_know() -> None:
    assert set(DEGRADATIONS) == set(Failure)
    assert Degradation.UNSPECIFIED not in DEGRADATIONS.values()


def test_what_a_provider_says_is_cut_to_a_bounded_length() -> None:
    assert len(of_event({"error": {"message": "x" * 10_000}}).detail) < 400
