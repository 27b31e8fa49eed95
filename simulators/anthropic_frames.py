"""Decides how an answer is written in Anthropic's Messages API: events, message, usage. Refuses to know
requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from simulators.turn import COMPLETE, MAX_TOKENS, REFUSAL, STOPPED, Call, Heading, Usage

LIFETIMES = {"5m": 300.0, "1h": 3600.0}
STOP_REASONS = {COMPLETE: "end_turn", MAX_TOKENS: "max_tokens", STOPPED: "stop_sequence", REFUSAL: "refusal"}
FAILURES = {
    "overloaded": ("overloaded_error", "Overloaded"),
    "rate_limit": ("rate_limit_error", "This request would exceed your organization's rate limit."),
    "server": ("api_error", "Internal server error"),
}

_PING = b'event: ping\ndata: {"type": "ping"}\n\n'
_UNKNOWN = b'event: content_block_annotated\ndata: {"type":"content_block_annotated","index":0,"annotation":{}}\n\n'
_MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
_REFUSAL_DETAILS = {"type": "refusal", "category": "general_harms", "explanation": "The request was declined."}
_SIGNATURE = "c2ltdWxhdGVk"


class AnthropicTurn:
    """One message being written."""

    def __init__(self, call: Call, *, with_diagnostics: bool) -> None:
        self.call = call
        self._with_diagnostics = with_diagnostics
        self._index = 0
        self._set_delta_head()

    def begin(self, heading: Heading) -> None:
        """The message's id, what its input consumed, and whether a block of thinking comes first."""
        self._heading = heading

    def opening(self) -> bytes:
        """`message_start`, the start of the first block, and the ping that always follows."""
        usage = _full_usage(self._heading.usage, output_tokens=0 if self.call.is_warming else 1)
        start = _event("message_start", {"type": "message_start", "message": self._message([], None, None, usage)})
        if self.call.is_warming:
            return start
        block = {"type": "thinking", "thinking": "", "signature": ""} if self._heading.is_thinking else _TEXT
        return start + self._start(block) + _PING

    def thought(self, text: str) -> bytes:
        """`content_block_delta` with a piece of thinking."""
        return self._delta({"type": "thinking_delta", "thinking": text})

    def thought_end(self) -> bytes:
        """The signature, the end of the block of thinking, the start of the block of text."""
        end = self._delta({"type": "signature_delta", "signature": _SIGNATURE}) + self._stop()
        self._index = 1
        self._set_delta_head()
        return end + self._start(_TEXT)

    def delta(self, text: str) -> bytes:
        """`content_block_delta` with a piece of text."""
        return self._delta_head + orjson.dumps(text) + b"}}\n\n"

    def closing(self, text: str, usage: Usage, ending: str) -> bytes:
        """The end of the block and the cumulative usage."""
        delta: dict[str, Any] = {"stop_reason": STOP_REASONS[ending], "stop_sequence": self._stop_sequence(ending)}
        if ending == REFUSAL:
            delta["stop_details"] = _REFUSAL_DETAILS
        counts = {**_counts(usage), "output_tokens": usage.output_tokens, **_thinking(usage)}
        end = _event("message_delta", {"type": "message_delta", "delta": delta, "usage": counts})
        return end if self.call.is_warming else self._stop() + end

    def end_marker(self, text: str, usage: Usage, ending: str) -> bytes:
        """`message_stop`; there is no `[DONE]`."""
        return _MESSAGE_STOP

    def ping(self) -> bytes:
        """The provider's own `ping` event."""
        return _PING

    def unknown(self) -> bytes:
        """An event of a type that does not exist yet."""
        return _UNKNOWN

    def failure(self, kind: str, shape: str) -> bytes:
        """The `error` event; the provider has one shape only."""
        name, message = FAILURES.get(kind, FAILURES["server"])
        error = {"details": None, "type": name, "message": message}
        return _event("error", {"type": "error", "error": error, "request_id": None})

    def whole(self, text: str, usage: Usage, ending: str) -> bytes:
        """The message as one JSON document."""
        content: list[Any] = [] if self.call.is_warming else [{"type": "text", "text": text}]
        if usage.thinking_tokens:
            content.insert(0, {"type": "thinking", "thinking": "Weighed the records.", "signature": _SIGNATURE})
        counts = _full_usage(usage, output_tokens=usage.output_tokens)
        message = self._message(content, STOP_REASONS[ending], self._stop_sequence(ending), counts)
        if ending == REFUSAL:
            message["stop_details"] = _REFUSAL_DETAILS
        return orjson.dumps(message)

    def _message(
        self, content: list[Any], stop_reason: str | None, stop_sequence: str | None, usage: Mapping[str, Any]
    ) -> dict[str, Any]:
        message: dict[str, Any] = {
            "model": self.call.model_name,
            "id": self._heading.identity,
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": stop_sequence,
            "usage": usage,
        }
        if self._with_diagnostics:
            message["diagnostics"] = self._heading.diagnosis
        return message

    def _stop_sequence(self, ending: str) -> str | None:
        return self.call.stops[0] if ending == STOPPED else None

    def _start(self, block: Mapping[str, Any]) -> bytes:
        start = {"type": "content_block_start", "index": self._index, "content_block": block}
        return _event("content_block_start", start)

    def _stop(self) -> bytes:
        return _event("content_block_stop", {"type": "content_block_stop", "index": self._index})

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return _event("content_block_delta", {"type": "content_block_delta", "index": self._index, "delta": delta})

    def _set_delta_head(self) -> None:
        """What every piece of text begins with, serialised once: there are hundreds of them in an answer."""
        whole = self._delta({"type": "text_delta", "text": ""})
        self._delta_head = whole[: whole.rindex(b'""')]


_TEXT = {"type": "text", "text": ""}


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


def _full_usage(usage: Usage, *, output_tokens: int) -> dict[str, Any]:
    by_lifetime = usage.found.written_tokens
    return {
        **_counts(usage),
        "cache_creation": {
            f"ephemeral_{name}_input_tokens": by_lifetime.get(lifetime, 0) for name, lifetime in LIFETIMES.items()
        },
        "output_tokens": output_tokens,
        **_thinking(usage),
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def _thinking(usage: Usage) -> dict[str, Any]:
    return {"output_tokens_details": {"thinking_tokens": usage.thinking_tokens}} if usage.thinking_tokens else {}
