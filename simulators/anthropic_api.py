"""Decides how Anthropic's Messages API is spoken: requests, events, usage, errors. Refuses to know time, faults and
connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from simulators.prompt_cache import Position, Prefix, chained
from simulators.turn import COMPLETE, MAX_TOKENS, REFUSAL, Call, Incoming, Refused, Usage

LIFETIMES = {"5m": 300.0, "1h": 3600.0}
LOOK_BACK_BLOCKS = 20
MOST_BREAKPOINTS = 4
STOP_REASONS = {COMPLETE: "end_turn", MAX_TOKENS: "max_tokens", REFUSAL: "refusal"}

PING = b'event: ping\ndata: {"type": "ping"}\n\n'


class AnthropicMessages:
    """The dialect of `POST /v1/messages`."""

    endpoint = "anthropic.messages"

    def read(self, incoming: Incoming) -> AnthropicTurn:
        """The turn that the body asks for; `Refused` with the provider's status and words when it is not
        acceptable."""
        body = incoming.body
        _check_key(incoming)
        model_name = _required(body, "model", str)
        model = incoming.scenario.model(model_name)
        if model is None or not model_name.startswith("claude-"):
            raise Refused(404, "not_found_error", f"model: {model_name}")
        max_tokens = _required(body, "max_tokens", int)
        if max_tokens < 0:
            raise _invalid("max_tokens: must be greater than or equal to 0")
        blocks = list(_blocks(body))
        schema = _schema(body)
        return AnthropicTurn(
            Call(
                model_name=model_name,
                model=model,
                stream=body.get("stream") is True,
                max_tokens=max_tokens,
                text=_last_user_text(body),
                schema=schema,
                prefix=_prefix(incoming, blocks),
                is_warming=max_tokens == 0,
            )
        )

    def refusal(self, refused: Refused, request_id: str) -> bytes:
        """The error body, as the SDK's exceptions read it."""
        details = {"error_code": refused.code} if refused.code else None
        error = {"type": refused.kind, "message": refused.message, "details": details}
        return orjson.dumps({"type": "error", "error": error, "request_id": request_id})

    def headers(self, request_id: str, seconds: float) -> dict[str, str]:
        """The headers of every response."""
        return {"request-id": request_id, "anthropic-organization-id": "00000000-0000-4000-8000-000000000000"}


class AnthropicTurn:
    """One message being written."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self._identity = ""
        self._usage = Usage(input_tokens=0, output_tokens=0)

    def begin(self, identity: str, usage: Usage, created: int) -> None:
        """The message's id and what its input consumed."""
        self._identity, self._usage = f"msg_01{identity}", usage

    def opening(self) -> bytes:
        """`message_start`, the start of the one text block, and the ping that always follows."""
        message = self._message([], None, _full_usage(self._usage, 1 if self.call.max_tokens else 0))
        start = _event("message_start", {"type": "message_start", "message": message})
        return start + _CONTENT_START + PING if not self.call.is_warming else start

    def delta(self, text: str) -> bytes:
        """`content_block_delta` with a piece of text."""
        return _DELTA_HEAD + orjson.dumps(text) + _DELTA_TAIL

    def closing(self, text: str, usage: Usage, ending: str) -> bytes:
        """The end of the block, the cumulative usage, the end of the message; there is no further marker."""
        delta: dict[str, Any] = {"stop_reason": STOP_REASONS[ending], "stop_sequence": None}
        if ending == REFUSAL:
            delta["stop_details"] = _REFUSAL_DETAILS
        counts = _counts(usage) | {"output_tokens": usage.output_tokens}
        end = _event("message_delta", {"type": "message_delta", "delta": delta, "usage": counts}) + _MESSAGE_STOP
        return end if self.call.is_warming else _CONTENT_STOP + end

    def whole(self, text: str, usage: Usage, ending: str) -> bytes:
        """The message as one JSON document."""
        content = [] if self.call.is_warming else [{"type": "text", "text": text}]
        message = self._message(content, STOP_REASONS[ending], _full_usage(usage, usage.output_tokens))
        if ending == REFUSAL:
            message["stop_details"] = _REFUSAL_DETAILS
        return orjson.dumps(message)

    def _message(self, content: list[Any], stop_reason: str | None, usage: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "model": self.call.model_name,
            "id": self._identity,
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": usage,
        }


_CONTENT_START = (
    b"event: content_block_start\n"
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
)
_DELTA_HEAD = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":'
)
_DELTA_TAIL = b"}}\n\n"
_CONTENT_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
_MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
_REFUSAL_DETAILS = {"type": "refusal", "category": "general_harms", "explanation": "The request was declined."}


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


def _counts(usage: Usage) -> dict[str, int]:
    """Input by how it is billed: `input_tokens` is what neither came from the cache nor went into it."""
    written, read = usage.found.all_written_tokens, usage.found.read_tokens
    return {
        "input_tokens": usage.input_tokens - written - read,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
    }


def _full_usage(usage: Usage, output_tokens: int) -> dict[str, Any]:
    by_lifetime = usage.found.written_tokens
    return {
        **_counts(usage),
        "cache_creation": {
            f"ephemeral_{name}_input_tokens": by_lifetime.get(lifetime, 0) for name, lifetime in LIFETIMES.items()
        },
        "output_tokens": output_tokens,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def _invalid(message: str) -> Refused:
    return Refused(400, "invalid_request_error", message)


def _check_key(incoming: Incoming) -> None:
    key = _key(incoming)
    if not key or (incoming.scenario.keys and key not in incoming.scenario.keys):
        raise Refused(401, "authentication_error", "invalid x-api-key")
    if not incoming.headers.get("anthropic-version"):
        raise _invalid("anthropic-version: header is required")


def _key(incoming: Incoming) -> str:
    return incoming.headers.get("x-api-key") or incoming.headers.get("authorization", "").removeprefix("Bearer ")


def _required(body: Mapping[str, Any], key: str, kind: type) -> Any:
    value = body.get(key)
    if value is None:
        raise _invalid(f"{key}: Field required")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _invalid(f"{key}: Input should be a valid {'string' if kind is str else 'integer'}")
    return value


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = (body.get("output_config") or {}).get("format")
    if form is None:
        return None
    if form.get("type") != "json_schema" or not isinstance(form.get("schema"), Mapping):
        raise _invalid("output_config.format: must be a json_schema with a schema")
    schema: Mapping[str, Any] = form["schema"]
    return schema


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    """Every cacheable block in the order the cache sees them: tools, system, messages."""
    for tool in body.get("tools") or ():
        yield b"tools", tool
    yield from ((b"system", block) for block in _content(body.get("system") or []))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _invalid("messages: at least one message is required")
    for message in messages:
        if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
            raise _invalid("messages: each must have the role user or assistant")
        yield from ((message["role"].encode(), block) for block in _content(message.get("content")))


def _content(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list) or not all(isinstance(block, Mapping) for block in content):
        raise _invalid("content: Input should be a valid string or a list of blocks")
    return content


def _last_user_text(body: Mapping[str, Any]) -> str:
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            return "\n".join(str(block.get("text", "")) for block in _content(message["content"]))
    raise _invalid("messages: first message must use the user role")


def _prefix(incoming: Incoming, blocks: list[tuple[bytes, Mapping[str, Any]]]) -> Prefix:
    body = incoming.body
    root = [
        _key(incoming).encode(),
        orjson.dumps([body["model"], body.get("speed"), body.get("output_config"), body.get("thinking")]),
    ]
    lifetimes = [_lifetime(block) for _, block in blocks]
    if body.get("cache_control"):
        if sum(each is not None for each in lifetimes) >= MOST_BREAKPOINTS:
            raise _invalid("cache_control: automatic caching needs one of the 4 breakpoints, and all are taken")
        lifetimes[-1] = _lifetime(body)
    if sum(each is not None for each in lifetimes) > MOST_BREAKPOINTS:
        raise _invalid("A maximum of 4 blocks with cache_control may be provided.")
    texts = [
        role + orjson.dumps({key: value for key, value in block.items() if key != "cache_control"})
        for role, block in blocks
    ]
    links = chained(root, texts)
    readable = _readable(lifetimes)
    positions = tuple(
        Position(key=key, tokens=tokens, is_read=place in readable, lifetime=lifetimes[place])
        for place, (key, tokens) in enumerate(links)
        if place in readable
    )
    return Prefix(positions=positions, total_tokens=links[-1][1], digest=links[-1][0])


def _lifetime(block: Mapping[str, Any]) -> float | None:
    control = block.get("cache_control")
    if not control:
        return None
    if control.get("type") != "ephemeral" or control.get("ttl", "5m") not in LIFETIMES:
        raise _invalid("cache_control: must be ephemeral with a ttl of 5m or 1h")
    return LIFETIMES[control.get("ttl", "5m")]


def _readable(lifetimes: list[float | None]) -> set[int]:
    """The places where a kept prefix is looked for: each breakpoint and so many blocks before it."""
    return {
        place
        for mark, lifetime in enumerate(lifetimes)
        if lifetime is not None
        for place in range(max(0, mark - LOOK_BACK_BLOCKS), mark + 1)
    }
