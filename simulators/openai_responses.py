"""Decides how OpenAI's Responses API is asked; refuses to know how an answer is written, time and connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from simulators import openai_errors as errors
from simulators import openai_prompt as shared
from simulators.openai_responses_frames import ResponseTurn
from simulators.prompt_cache import Found
from simulators.scenario import Limits, Scenario
from simulators.turn import Call, Fingerprint, Incoming, Level, Refused

LEAST_OUTPUT_TOKENS = 16


class OpenAIResponses:
    """The dialect of `POST /v1/responses`."""

    endpoint = "openai.responses"

    def read(self, incoming: Incoming) -> ResponseTurn:
        """The turn that the body asks for; `Refused` with the provider's status and words when it is not
        acceptable."""
        body = incoming.body
        shared.check_key(incoming)
        name, model = shared.model_of(incoming)
        messages = _messages(body)
        form = shared.table_of(shared.table_of(body, "text"), "format")
        options = shared.table_of(body, "prompt_cache_options")
        parameters = {
            "text_format_changed": form,
            "reasoning_effort_changed": shared.table_of(body, "reasoning").get("effort"),
            "verbosity_changed": shared.table_of(body, "text").get("verbosity"),
            "service_tier_changed": body.get("service_tier"),
        }
        fingerprint = shared.fingerprint_of(incoming, parameters, model, messages)
        return ResponseTurn(
            Call(
                model_name=name,
                model=model,
                stream=body.get("stream") is True,
                max_tokens=shared.limit_of(body, "max_output_tokens", low=LEAST_OUTPUT_TOKENS),
                text=shared.last_user_text(messages),
                schema=_schema(form),
                prefix=fingerprint.prefix,
                workspace=shared.key_of(incoming),
                fingerprint=fingerprint,
                compared_with=options.get("comparison_response_id"),
                is_warming=options.get("prewarm") is True,
                cache_minimum_tokens=shared.LEAST_TOKENS,
                cache_group=shared.group_of(fingerprint.prefix),
            ),
            body,
        )

    def refusal(self, refused: Refused, request_id: str) -> bytes:
        """The error body, as the SDK's exceptions read it."""
        return orjson.dumps({"error": errors.error_body(refused)})

    def error(self, status: int, **facts: str) -> Refused:
        """The provider's error of that status."""
        return errors.prepared(status, **facts)

    def headers(self, request_id: str, seconds: float) -> dict[str, str]:
        """The headers of every response."""
        return errors.response_headers(request_id, seconds)

    def limits(self, scenario: Scenario) -> Limits:
        """The scenario's limits for this provider."""
        return errors.limits_of(scenario)

    def limit_headers(self, levels: Mapping[str, Level], epoch: float) -> dict[str, str]:
        """How far each limit is used up."""
        return errors.limit_headers(levels)

    def too_much(self, limit: str, wait: float, model: str) -> Refused:
        """429."""
        return errors.too_much(limit, wait, model)

    def billed_input(self, call: Call, found: Found) -> float:
        """What the input costs, in ordinary input tokens."""
        return shared.billed_input(call, found)

    def diagnosis(self, earlier: Fingerprint | None, call: Call, found: Found) -> Mapping[str, Any] | None:
        """`prompt_cache_diagnostics`: a hit, or the first thing that differs from the response it is compared
        with."""
        if call.compared_with is None:
            return None
        if earlier is None:
            return {"type": "comparison_response_not_found"}
        if found.read_tokens:
            return {"type": "cache_hit"}
        now = call.fingerprint
        changed = next((name for name, value in earlier.parameters.items() if now.parameters[name] != value), None)
        shared_tokens = earlier.prefix.shared_tokens(call.prefix)
        missed = max(0, earlier.prefix.total_tokens - shared_tokens)
        if changed is None and not missed:
            return {"type": "unavailable"}
        reason = {"reason": changed or "input_changed", "cache_missed_tokens": missed}
        return {"type": "cache_miss", **reason, "comparison_reusable_tokens": shared_tokens}


def _messages(body: Mapping[str, Any]) -> list[Any]:
    """The instructions and the input as messages."""
    if body.get("previous_response_id") is not None:
        message = f"Previous response with id '{body['previous_response_id']}' not found."
        raise errors.invalid(message, "previous_response_id", "previous_response_not_found")
    given = body.get("input")
    if isinstance(given, str) and given:
        given = [{"role": "user", "content": given}]
    else:
        given = shared.messages_of(body, "input")
    instructions = body.get("instructions")
    return ([{"role": "system", "content": instructions}] if instructions else []) + given


def _schema(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if form.get("type") in (None, "text"):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    if form.get("type") != "json_schema":
        raise errors.invalid(f"Invalid value: '{form.get('type')}'.", "text.format.type", "invalid_value")
    return shared.checked_schema(form, "text.format")
