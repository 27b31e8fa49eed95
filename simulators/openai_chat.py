"""Decides how OpenAI's Chat Completions API is spoken: requests, chunks, usage. Refuses to know time and
connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from simulators import openai_errors as errors
from simulators import openai_prompt as shared
from simulators.prompt_cache import Found
from simulators.scenario import Limits, Scenario
from simulators.turn import (
    COMPLETE,
    MAX_TOKENS,
    REFUSAL,
    STOPPED,
    Call,
    Fingerprint,
    Heading,
    Incoming,
    Level,
    Refused,
    Usage,
)

FINISH_REASONS = {COMPLETE: "stop", MAX_TOKENS: "length", STOPPED: "stop", REFUSAL: "content_filter"}
PADDING = "aK7fQ2mX9dR4tZ1b"
"""Cut to different lengths for `obfuscation`, which hides how long a token is."""


class OpenAIChat:
    """The dialect of `POST /v1/chat/completions`."""

    endpoint = "openai.chat"

    def read(self, incoming: Incoming) -> ChatTurn:
        """The turn that the body asks for; `Refused` with the provider's status and words when it is not
        acceptable."""
        body = incoming.body
        shared.check_key(incoming)
        name, model = shared.model_of(incoming)
        messages = shared.messages_of(body, "messages")
        if shared.table_of(body, "prompt_cache_options").get("ttl", "30m") != "30m":
            raise errors.invalid("Invalid value: only '30m' is supported.", "prompt_cache_options.ttl")
        form = shared.table_of(body, "response_format")
        parameters = {
            "text_format_changed": form,
            "reasoning_effort_changed": body.get("reasoning_effort"),
            "verbosity_changed": body.get("verbosity"),
            "service_tier_changed": body.get("service_tier"),
        }
        fingerprint = shared.fingerprint_of(incoming, parameters, model, messages)
        options = shared.table_of(body, "stream_options")
        return ChatTurn(
            Call(
                model_name=name,
                model=model,
                stream=body.get("stream") is True,
                max_tokens=shared.limit_of(body, "max_completion_tokens", "max_tokens"),
                text=shared.last_user_text(messages),
                schema=_schema(form),
                prefix=fingerprint.prefix,
                workspace=shared.key_of(incoming),
                fingerprint=fingerprint,
                stops=_stops(body.get("stop")),
                cache_minimum_tokens=shared.LEAST_TOKENS,
                cache_group=shared.group_of(fingerprint.prefix),
            ),
            with_usage=options.get("include_usage") is True,
            is_obfuscated=options.get("include_obfuscation") is not False,
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
        """This endpoint has none."""
        return None


class ChatTurn:
    """One completion being written."""

    def __init__(self, call: Call, *, with_usage: bool, is_obfuscated: bool) -> None:
        self.call = call
        self._with_usage = with_usage
        self._is_obfuscated = is_obfuscated
        self._said = 0

    def begin(self, heading: Heading) -> None:
        """The completion's id; what every chunk repeats is serialised once."""
        self._common: dict[str, Any] = {
            "id": f"chatcmpl-{heading.identity}",
            "created": heading.created,
            "model": self.call.model_name,
            "service_tier": "default",
            "system_fingerprint": "fp_simulated",
        }
        chunk = self._unended({"content": ""}, None)
        at = chunk.index(b'"content":""') + len(b'"content":')
        self._head, self._tail = chunk[:at], chunk[at + 2 :]

    def opening(self) -> bytes:
        """The chunk that names the role and carries no text."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None}, None)

    def thought(self, text: str) -> bytes:
        """What the model thinks is not shown here, only counted."""
        return b""

    def thought_end(self) -> bytes:
        """Nothing."""
        return b""

    def delta(self, text: str) -> bytes:
        """A chunk with a piece of text."""
        return self._head + orjson.dumps(text) + self._tail + self._ended()

    def closing(self, text: str, usage: Usage, ending: str) -> bytes:
        """The finish reason, and the usage when it was asked for, in a chunk without choices."""
        end = b""
        finish_reason = FINISH_REASONS[ending]
        if ending == REFUSAL and not text:
            finish_reason = "stop"
            end = self._chunk({"refusal": "I cannot help with that."}, None)
        end += self._chunk({}, finish_reason)
        if self._with_usage:
            chunk = {**self._common, "object": "chat.completion.chunk", "choices": [], "usage": self._usage(usage)}
            end += b"data: " + orjson.dumps(chunk) + b"\n\n"
        return end

    def end_marker(self, text: str, usage: Usage, ending: str) -> bytes:
        """`[DONE]`."""
        return b"data: [DONE]\n\n"

    def ping(self) -> bytes:
        """A comment: this provider has no ping of its own."""
        return b": ping\n\n"

    def unknown(self) -> bytes:
        """A chunk with fields that do not exist yet, and no choices."""
        chunk = {**self._common, "object": "chat.completion.annotation", "choices": [], "annotation": {"level": 1}}
        return b"data: " + orjson.dumps(chunk) + b"\n\n"

    def failure(self, kind: str, shape: str) -> bytes:
        """An event whose data has the key `error`; with shape `typed` also a `type`, as was seen of overloads."""
        error = errors.failure_body(kind)
        data = {"type": "error", "error": error} if shape == "typed" else {"error": error}
        return b"data: " + orjson.dumps(data) + b"\n\n"

    def whole(self, text: str, usage: Usage, ending: str) -> bytes:
        """The completion as one JSON document."""
        is_declined = ending == REFUSAL and not text
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if is_declined else text,
            "refusal": "I cannot help with that." if is_declined else None,
            "annotations": [],
        }
        finish_reason = "stop" if is_declined else FINISH_REASONS[ending]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
        known = {**self._common, "object": "chat.completion", "choices": [choice]}
        return orjson.dumps({**known, "usage": self._usage(usage)})

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None) -> bytes:
        return self._unended(delta, finish_reason) + self._ended()

    def _unended(self, delta: Mapping[str, Any], finish_reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk = {**self._common, "object": "chat.completion.chunk", "choices": [choice]}
        if self._with_usage:
            chunk["usage"] = None
        return b"data: " + orjson.dumps(chunk)[:-1]

    def _ended(self) -> bytes:
        """The end of a chunk, after its padding."""
        if not self._is_obfuscated:
            return b"}\n\n"
        self._said += 7
        return b',"obfuscation":"' + PADDING[: 1 + self._said % len(PADDING)].encode() + b'"}\n\n'

    def _usage(self, usage: Usage) -> dict[str, Any]:
        return {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "prompt_tokens_details": {**shared.input_details(usage, self.call.model), "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": usage.thinking_tokens,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def _stops(stop: Any) -> tuple[str, ...]:
    stops = [stop] if isinstance(stop, str) else stop or []
    if not isinstance(stops, list) or not all(isinstance(each, str) and each for each in stops):
        raise errors.invalid("Invalid type for 'stop': expected a text or a list of texts.", "stop", "invalid_type")
    return tuple(stops)


def _schema(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if form.get("type") in (None, "text"):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    described = form.get("json_schema")
    if form.get("type") != "json_schema" or not isinstance(described, Mapping):
        raise errors.invalid(
            "Missing required parameter: 'response_format.json_schema'.", "response_format.json_schema"
        )
    return shared.checked_schema(described, "response_format.json_schema")
