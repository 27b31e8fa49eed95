"""Decides how Anthropic's Messages API is asked: which requests are acceptable, errors, limits, and what the cache
compares.

Refuses to know how an answer is written (`simulators.anthropic_frames`), time and connections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import accumulate
from math import ceil
from typing import Any

import orjson

from simulators.anthropic_frames import LIFETIMES, AnthropicTurn
from simulators.prompt_cache import Found, Position, Prefix, keyed
from simulators.scenario import Limits, Model, Scenario
from simulators.schemas import anthropic_fault
from simulators.turn import Call, Fingerprint, Incoming, Level, Refused

VERSIONS = ("2023-06-01", "2026-10-21")
LOOK_BACK_BLOCKS = 20
READ_PRICE = 0.1
WRITE_PRICES = {300.0: 1.25, 3_600.0: 2.0}
"""By lifetime in seconds, in ordinary input tokens."""
MOST_BREAKPOINTS = 4
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

Block = tuple[str, Mapping[str, Any]]


class AnthropicMessages:
    """The dialect of `POST /v1/messages`."""

    endpoint = "anthropic.messages"

    def read(self, incoming: Incoming) -> AnthropicTurn:
        """The turn that the body asks for; `Refused` with the provider's status and words when it is not
        acceptable."""
        body = incoming.body
        _check_access(incoming)
        name, model = _model(incoming)
        max_tokens = _required(body, "max_tokens", int)
        if max_tokens < 0:
            raise _invalid("max_tokens: must be greater than or equal to 0")
        blocks = list(_blocks(body))
        if not blocks:
            raise _invalid("messages: content must not be empty")
        _check_version(incoming, blocks)
        prefilled = _prefilled(body, model)
        fingerprint = _fingerprint(incoming, blocks)
        diagnostics = _table(body, "diagnostics")
        call = Call(
            model_name=name,
            model=model,
            stream=body.get("stream") is True,
            max_tokens=max_tokens,
            text=_last_user_text(body),
            schema=_schema(body),
            prefix=fingerprint.prefix,
            workspace=_key(incoming),
            fingerprint=fingerprint,
            compared_with=diagnostics.get("previous_message_id"),
            stops=_stops(body),
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


def _invalid(message: str) -> Refused:
    return Refused(400, "invalid_request_error", message)


def _table(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = body.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise _invalid(f"{key}: Input should be a valid dictionary")
    return value or {}


def _check_access(incoming: Incoming) -> None:
    key = _key(incoming)
    if not key or (incoming.scenario.keys and key not in incoming.scenario.keys):
        raise Refused(401, "authentication_error", MESSAGES[401])
    version = incoming.headers.get("anthropic-version")
    if version is None:
        raise _invalid("anthropic-version: header is required")
    if version not in VERSIONS:
        raise _invalid(f"anthropic-version: {version!r} is not a valid version")


def _key(incoming: Incoming) -> str:
    return incoming.headers.get("x-api-key") or incoming.headers.get("authorization", "").removeprefix("Bearer ")


def _model(incoming: Incoming) -> tuple[str, Model]:
    name = _required(incoming.body, "model", str)
    model = incoming.scenario.model(name)
    if model is None or not name.startswith("claude-"):
        raise Refused(404, "not_found_error", f"model: {name}")
    return name, model


def _required(body: Mapping[str, Any], key: str, kind: type) -> Any:
    value = body.get(key)
    if value is None:
        raise _invalid(f"{key}: Field required")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _invalid(f"{key}: Input should be a valid {'string' if kind is str else 'integer'}")
    return value


def _check_version(incoming: Incoming, blocks: list[Block]) -> None:
    """What the newer version of the API no longer takes."""
    if incoming.headers["anthropic-version"] == VERSIONS[0]:
        return
    for key in ("temperature", "top_p", "top_k"):
        if incoming.body.get(key) is not None:
            raise _invalid(f"{key}: Extra inputs are not permitted in this version of the API")
    for place, block in blocks:
        if place == "assistant" and block.get("type") == "document":
            raise _invalid("messages: document blocks are not permitted in assistant messages")
        if place == "user" and block.get("type") == "text" and block.get("citations"):
            raise _invalid("messages: citations are not permitted on user text")


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = _table(_table(body, "output_config"), "format")
    if not form:
        return None
    if form.get("type") != "json_schema" or not isinstance(form.get("schema"), Mapping):
        raise _invalid("output_config.format: must be a json_schema with a schema")
    schema: Mapping[str, Any] = form["schema"]
    fault = anthropic_fault(schema)
    if fault:
        raise _invalid(f"output_config.format.schema: {fault}")
    return schema


def _blocks(body: Mapping[str, Any]) -> Iterator[Block]:
    """Every cacheable block in the order the cache sees them: tools, system, messages."""
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise _invalid("tools: Input should be a valid list")
    yield from (("tools", tool) for tool in _content(tools, "tools"))
    yield from (("system", block) for block in _content(body.get("system") or [], "system"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _invalid("messages: at least one message is required")
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
            raise _invalid(f"messages.{place}: must have the role user or assistant")
        yield from ((message["role"], block) for block in _content(message.get("content"), f"messages.{place}"))


def _content(content: Any, where: str) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list) or not all(isinstance(block, Mapping) for block in content):
        raise _invalid(f"{where}: Input should be a valid string or a list of blocks")
    return content


def _last_user_text(body: Mapping[str, Any]) -> str:
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            return "\n".join(str(block.get("text", "")) for block in _content(message["content"], "messages"))
    raise _invalid("messages: first message must use the user role")


def _stops(body: Mapping[str, Any]) -> tuple[str, ...]:
    stops = body.get("stop_sequences") or []
    if not isinstance(stops, list) or not all(isinstance(each, str) and each for each in stops):
        raise _invalid("stop_sequences: Input should be a valid list of texts")
    return tuple(stops)


def _prefilled(body: Mapping[str, Any], model: Model) -> str:
    last = body["messages"][-1]
    if last["role"] != "assistant":
        return ""
    if not model.prefill or _table(body, "output_config").get("format"):
        raise _invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    return "".join(str(block.get("text", "")) for block in _content(last["content"], "messages"))


def _fingerprint(incoming: Incoming, blocks: list[Block]) -> Fingerprint:
    body = incoming.body
    texts = [
        place.encode() + orjson.dumps({key: value for key, value in block.items() if key != "cache_control"})
        for place, block in blocks
    ]
    of_place = {
        wanted: b"".join(text for (place, _), text in zip(blocks, texts, strict=True) if place == wanted)
        for wanted in ("tools", "system")
    }
    others = orjson.dumps([body.get("output_config"), body.get("thinking"), body.get("tool_choice")])
    parameters: dict[str, object] = {
        "model_changed": (body["model"], body.get("speed")),
        "tools_changed": hash(of_place["tools"]),
        "system_changed": hash(of_place["system"]),
        "unavailable": others,
    }
    root = [_key(incoming).encode(), orjson.dumps([body["model"], body.get("speed")]), others]
    return Fingerprint(parameters=parameters, prefix=_prefix(root, texts, _lifetimes(body, blocks)))


def _prefix(root: list[bytes], texts: list[bytes], lifetimes: list[float | None]) -> Prefix:
    links = keyed(root, b"".join(texts), accumulate(len(text) for text in texts))
    readable = {
        place
        for mark, lifetime in enumerate(lifetimes)
        if lifetime is not None
        for place in range(max(0, mark - LOOK_BACK_BLOCKS), mark + 1)
    }
    positions = tuple(
        Position(key=key, tokens=tokens, is_read=place in readable, lifetime=lifetimes[place])
        for place, (key, tokens) in enumerate(links)
    )
    return Prefix(positions=positions, total_tokens=links[-1][1], digest=links[-1][0])


def _lifetimes(body: Mapping[str, Any], blocks: list[Block]) -> list[float | None]:
    """For each block how long the prefix up to it is kept; None when it is not."""
    lifetimes = [_lifetime(block) for _, block in blocks]
    explicit = sum(each is not None for each in lifetimes)
    if explicit > MOST_BREAKPOINTS:
        raise _invalid(f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {explicit}.")
    if body.get("cache_control"):
        if explicit == MOST_BREAKPOINTS:
            raise _invalid("cache_control: automatic caching needs one of the 4 breakpoints, and all are taken")
        lifetimes[-1] = _lifetime(body)
    kept = [each for each in lifetimes if each is not None]
    if kept != sorted(kept, reverse=True):
        raise _invalid("cache_control: a ttl='1h' block must not come after a ttl='5m' block")
    return lifetimes


def _lifetime(block: Mapping[str, Any]) -> float | None:
    control = _table(block, "cache_control")
    if not control:
        return None
    if control.get("type") != "ephemeral" or control.get("ttl", "5m") not in LIFETIMES:
        raise _invalid("cache_control: must be ephemeral with a ttl of 5m or 1h")
    return LIFETIMES[control.get("ttl", "5m")]
