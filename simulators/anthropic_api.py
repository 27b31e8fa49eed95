"""Decides how Anthropic's Messages API is spoken but for the answer itself: errors, limits, prices, diagnostics.

Refuses to know how a request is read (`simulators.anthropic_prompt`), how an answer is written
(`simulators.anthropic_frames`),
time and connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil
from typing import Any

import orjson

from simulators import anthropic_prompt as asked
from simulators.anthropic_frames import AnthropicTurn
from simulators.prompt_cache import Found
from simulators.scenario import Limits, Scenario
from simulators.turn import Call, Fingerprint, Incoming, Level, Refused

READ_PRICE = 0.1
WRITE_PRICES = {300.0: 1.25, 3_600.0: 2.0}
"""By lifetime in seconds, in ordinary input tokens."""
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
MESSAGES = {
    401: "invalid x-api-key",
    429: "This request would exceed your organization's rate limit. Please try again later.",
    529: "Overloaded",
}


class AnthropicMessages:
    """The dialect of `POST /v1/messages`."""

    endpoint = "anthropic.messages"

    def read(self, incoming: Incoming) -> AnthropicTurn:
        """The turn that the body asks for; `Refused` with the provider's status and words when it is not
        acceptable."""
        body = incoming.body
        asked.check_access(incoming)
        name, model = asked.model_of(incoming)
        max_tokens = asked.required(body, "max_tokens", int)
        if max_tokens < 0:
            raise asked.invalid("max_tokens: must be greater than or equal to 0")
        blocks = list(asked.blocks_of(body))
        if not blocks:
            raise asked.invalid("messages: content must not be empty")
        asked.check_version(incoming, blocks)
        prefilled = asked.prefilled(body, model)
        fingerprint = asked.fingerprint_of(incoming, blocks)
        diagnostics = asked.table(body, "diagnostics")
        call = Call(
            model_name=name,
            model=model,
            stream=body.get("stream") is True,
            max_tokens=max_tokens,
            text=asked.last_user_text(body),
            schema=asked.schema_of(body),
            prefix=fingerprint.prefix,
            workspace=asked.key_of(incoming),
            fingerprint=fingerprint,
            compared_with=diagnostics.get("previous_message_id"),
            stops=asked.stops_of(body),
            prefilled=prefilled,
            is_warming=max_tokens == 0,
            cache_minimum_tokens=model.cache_minimum_tokens,
        )
        return AnthropicTurn(call, with_diagnostics="diagnostics" in body)

    def refusal(self, refused: Refused, request_id: str) -> bytes:
        """The error body, as the SDK's exceptions read it."""
        details = {"error_code": refused.code} if refused.code else None
        error = {"type": refused.kind, "message": refused.message, "details": details}
        return orjson.dumps({"type": "error", "error": error, "request_id": request_id})

    def error(self, status: int, **facts: str) -> Refused:
        """The provider's error of that status."""
        kind = KINDS.get(status, "api_error")
        message = facts.get("message") or MESSAGES.get(status, "Internal server error")
        return Refused(status, kind, message, code=facts.get("code") or None)

    def headers(self, request_id: str, seconds: float) -> dict[str, str]:
        """The headers of every response."""
        return {"request-id": request_id, "anthropic-organization-id": "00000000-0000-4000-8000-000000000000"}

    def limits(self, scenario: Scenario) -> Limits:
        """The scenario's limits for this provider."""
        return scenario.anthropic_limits

    def limit_headers(self, levels: Mapping[str, Level], epoch: float) -> dict[str, str]:
        """`anthropic-ratelimit-*`; the reset is an instant in RFC 3339."""
        headers = {}
        for name, level in levels.items():
            reset = datetime.fromtimestamp(ceil(epoch + level.reset), UTC)
            start = f"anthropic-ratelimit-{name.replace('_', '-')}"
            headers[f"{start}-limit"] = str(level.limit)
            headers[f"{start}-remaining"] = str(level.remaining)
            headers[f"{start}-reset"] = reset.strftime("%Y-%m-%dT%H:%M:%SZ")
        return headers

    def too_much(self, limit: str, wait: float, model: str) -> Refused:
        """429 with the seconds to wait, rounded up as the provider does."""
        words = limit.replace("_", " ")
        refused = self.error(429, message=f"This request would exceed your organization's limit of {words} per minute.")
        refused.headers["retry-after"] = str(max(1, ceil(wait)))
        return refused

    def billed_input(self, call: Call, found: Found) -> float:
        """Reading costs a tenth, writing a quarter more for five minutes and twice as much for an hour."""
        return found.billed(call.prefix.total_tokens, read_price=READ_PRICE, write_prices=WRITE_PRICES)

    def diagnosis(self, earlier: Fingerprint | None, call: Call, found: Found) -> Mapping[str, Any] | None:
        """`diagnostics`: None when there was nothing to compare with or the prompts did not diverge."""
        if call.compared_with is None:
            return None
        if earlier is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        now = call.fingerprint
        changed = next((name for name, value in earlier.parameters.items() if now.parameters[name] != value), None)
        if changed == "unavailable":
            return {"cache_miss_reason": {"type": "unavailable"}}
        shared = earlier.prefix.shared_tokens(call.prefix)
        if changed is None and shared == earlier.prefix.total_tokens:
            return None
        missed = max(0, earlier.prefix.total_tokens - shared)
        reason = {"type": changed or "messages_changed", "cache_missed_input_tokens": missed}
        return {"cache_miss_reason": reason}
