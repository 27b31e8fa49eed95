"""Decides how OpenAI's Chat Completions API is spoken: requests, chunks, usage. Refuses to know time, faults and
connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from simulators.openai_prompt import (
    check_key,
    input_details,
    invalid,
    last_user_text,
    limit_of,
    model_of,
    prefix_of,
    refusal_bytes,
    response_headers,
)
from simulators.turn import COMPLETE, MAX_TOKENS, REFUSAL, Call, Incoming, Refused, Usage

FINISH_REASONS = {COMPLETE: "stop", MAX_TOKENS: "length", REFUSAL: "content_filter"}
DONE = b"data: [DONE]\n\n"


class OpenAIChat:
    """The dialect of `POST /v1/chat/completions`."""

    endpoint = "openai.chat"

    def read(self, incoming: Incoming) -> ChatTurn:
        """The turn that the body asks for; `Refused` with the provider's status and words when it is not
        acceptable."""
        body = incoming.body
        check_key(incoming)
        name, model = model_of(incoming)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise invalid("[] is too short - 'messages'", "messages")
        form = body.get("response_format")
        parameters = [name, form, body.get("reasoning_effort"), body.get("verbosity"), body.get("service_tier")]
        options = body.get("stream_options") or {}
        return ChatTurn(
            Call(
                model_name=name,
                model=model,
                stream=body.get("stream") is True,
                max_tokens=limit_of(body, "max_completion_tokens", "max_tokens"),
                text=last_user_text(messages),
                schema=_schema(form),
                prefix=prefix_of(incoming, parameters, [body.get("tools"), messages]),
            ),
            with_usage=options.get("include_usage") is True,
        )

    def refusal(self, refused: Refused, request_id: str) -> bytes:
        """The error body, as the SDK's exceptions read it."""
        return refusal_bytes(refused)

    def headers(self, request_id: str, seconds: float) -> dict[str, str]:
        """The headers of every response."""
        return response_headers(request_id, seconds)


class ChatTurn:
    """One completion being written."""

    def __init__(self, call: Call, *, with_usage: bool) -> None:
        self.call = call
        self._with_usage = with_usage
        self._common: dict[str, Any] = {}
        self._head = self._tail = b""

    def begin(self, identity: str, usage: Usage, created: int) -> None:
        """The completion's id; what every chunk repeats is serialised once."""
        self._common = {
            "id": f"chatcmpl-{identity}",
            "created": created,
            "model": self.call.model_name,
            "service_tier": "default",
            "system_fingerprint": "fp_simulated",
        }
        chunk = self._chunk({"content": ""}, None)
        self._head, self._tail = chunk[: (at := chunk.index(b'"content":""') + 10)], chunk[at + 2 :]

    def opening(self) -> bytes:
        """The chunk that names the role and carries no text."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None}, None)

    def delta(self, text: str) -> bytes:
        """A chunk with a piece of text."""
        return self._head + orjson.dumps(text) + self._tail

    def closing(self, text: str, usage: Usage, ending: str) -> bytes:
        """The finish reason, the usage when it was asked for (in a chunk without choices), and the end marker."""
        end = self._chunk({}, FINISH_REASONS[ending])
        if self._with_usage:
            chunk = {**self._common, "object": "chat.completion.chunk", "choices": [], "usage": _usage(usage)}
            end += b"data: " + orjson.dumps(chunk) + b"\n\n"
        return end + DONE

    def whole(self, text: str, usage: Usage, ending: str) -> bytes:
        """The completion as one JSON document."""
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": FINISH_REASONS[ending]}
        return orjson.dumps({**self._common, "object": "chat.completion", "choices": [choice], "usage": _usage(usage)})

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk = {**self._common, "object": "chat.completion.chunk", "choices": [choice]}
        if self._with_usage:
            chunk["usage"] = None
        return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {**input_details(usage), "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _schema(form: Any) -> Mapping[str, Any] | None:
    if not isinstance(form, Mapping) or form.get("type") in (None, "text"):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    described = form.get("json_schema")
    if form.get("type") != "json_schema" or not isinstance(described, Mapping):
        raise invalid("Missing required parameter: 'response_format.json_schema'.", "response_format.json_schema")
    if not isinstance(described.get("name"), str) or not 0 < len(described["name"]) <= 64:
        raise invalid("Invalid 'response_format.json_schema.name'.", "response_format.json_schema.name")
    schema = described.get("schema")
    if not isinstance(schema, Mapping):
        raise invalid("Missing required parameter: 'response_format.json_schema.schema'.", "response_format")
    return schema
