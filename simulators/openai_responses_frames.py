"""Decides how an answer is written in OpenAI's Responses API: events, response object, usage. Refuses to know
requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from simulators import openai_errors as errors
from simulators import openai_prompt as shared
from simulators.turn import COMPLETE, REFUSAL, STOPPED, Call, Heading, Usage

INCOMPLETE = {"max_tokens": "max_output_tokens", REFUSAL: "content_filter"}
DECLINED = "I cannot help with that."
PADDING = "Zt5bLq8wRn3Yc1Vx"


class ResponseTurn:
    """One response being written."""

    def __init__(self, call: Call, body: Mapping[str, Any]) -> None:
        self.call = call
        self._body = body
        options = shared.table_of(body, "stream_options")
        self._is_obfuscated = options.get("include_obfuscation") is not False
        self._sequence = -1
        self._output = 0

    def begin(self, heading: Heading) -> None:
        """The response's id and what it repeats of the request; the head of a delta is serialised once."""
        self._heading = heading
        self._item = {"type": "message", "id": f"msg_{heading.identity}", "role": "assistant"}
        self._reasoning = {"type": "reasoning", "id": f"rs_{heading.identity}", "summary": []}
        self._set_delta_head()

    def opening(self) -> bytes:
        """`response.created`, `response.in_progress`, and the beginning of the one message."""
        start = self._event("response.created", response=self._response("in_progress"))
        start += self._event("response.in_progress", response=self._response("in_progress"))
        if self.call.is_warming:
            return start
        if self._heading.is_thinking:
            return start + self._event("response.output_item.added", output_index=0, item=self._reasoning)
        return start + self._message_start()

    def thought(self, text: str) -> bytes:
        """What the model thinks is not shown here, only counted."""
        return b""

    def thought_end(self) -> bytes:
        """The end of the reasoning item and the beginning of the message."""
        end = self._event("response.output_item.done", output_index=0, item=self._reasoning)
        self._output = 1
        self._set_delta_head()
        return end + self._message_start()

    def delta(self, text: str) -> bytes:
        """`response.output_text.delta`."""
        self._sequence += 1
        end = b',"logprobs":[],"sequence_number":' + str(self._sequence).encode()
        if self._is_obfuscated:
            end += b',"obfuscation":"' + PADDING[: 1 + self._sequence * 7 % len(PADDING)].encode() + b'"'
        return self._delta_head + orjson.dumps(text) + end + b"}\n\n"

    def closing(self, text: str, usage: Usage, ending: str) -> bytes:
        """The end of the text, of its part and of the message."""
        if self.call.is_warming:
            return b""
        at = {"item_id": self._item["id"], "output_index": self._output, "content_index": 0}
        if ending == REFUSAL and not text:
            end = self._event("response.refusal.delta", **at, delta=DECLINED)
            end += self._event("response.refusal.done", **at, refusal=DECLINED)
        else:
            end = self._event("response.output_text.done", **at, text=text, logprobs=[])
        part = self._part(text, ending)
        end += self._event("response.content_part.done", **at, part=part)
        done = self._done_item(text, ending)
        return end + self._event("response.output_item.done", output_index=self._output, item=done)

    def end_marker(self, text: str, usage: Usage, ending: str) -> bytes:
        """`response.completed`, or `response.incomplete` with the reason; there is no `[DONE]`."""
        status = self._status(text, ending)
        return self._event(f"response.{status}", response=self._finished(text, usage, ending))

    def ping(self) -> bytes:
        """A comment: this provider has no ping of its own."""
        return b": ping\n\n"

    def unknown(self) -> bytes:
        """An event of a type that does not exist yet."""
        return self._event("response.output_text.annotated", level=1)

    def failure(self, kind: str, shape: str) -> bytes:
        """An error inside the stream.

        Shapes: `event` (the default) has no key `error`, and the SDK hands it out as an ordinary event; `nested`
        has one;
        `failed` is `response.failed`.
        """
        error = errors.failure_body(kind)
        if shape == "failed":
            failed = {**self._response("failed"), "error": {"code": error["code"], "message": error["message"]}}
            return self._event("response.failed", response=failed)
        if shape == "nested":
            return self._event("error", error=error)
        return self._event("error", code=error["code"], message=error["message"], param=None)

    def whole(self, text: str, usage: Usage, ending: str) -> bytes:
        """The response as one JSON document."""
        return orjson.dumps(self._finished(text, usage, ending))

    def _message_start(self) -> bytes:
        item = {**self._item, "status": "in_progress", "content": []}
        start = self._event("response.output_item.added", output_index=self._output, item=item)
        at = {"item_id": self._item["id"], "output_index": self._output, "content_index": 0}
        return start + self._event("response.content_part.added", **at, part=self._part("", COMPLETE))

    def _part(self, text: str, ending: str) -> dict[str, Any]:
        if ending == REFUSAL and not text:
            return {"type": "refusal", "refusal": DECLINED}
        return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}

    def _done_item(self, text: str, ending: str) -> dict[str, Any]:
        status = "completed" if self._status(text, ending) == "completed" else "incomplete"
        return {**self._item, "status": status, "content": [self._part(text, ending)]}

    def _status(self, text: str, ending: str) -> str:
        is_done = ending in (COMPLETE, STOPPED) or self.call.is_warming or (ending == REFUSAL and not text)
        return "completed" if is_done else "incomplete"

    def _finished(self, text: str, usage: Usage, ending: str) -> dict[str, Any]:
        response = self._response(self._status(text, ending))
        output = [] if self.call.is_warming else [self._done_item(text, ending)]
        response["output"] = [self._reasoning, *output] if usage.thinking_tokens else output
        response["usage"] = self._usage(usage)
        response["completed_at"] = self._heading.created if response["status"] == "completed" else None
        if response["status"] == "incomplete":
            response["incomplete_details"] = {"reason": INCOMPLETE[ending]}
        return response

    def _response(self, status: str) -> dict[str, Any]:
        body = self._body
        return {
            "id": f"resp_{self._heading.identity}",
            "object": "response",
            "created_at": self._heading.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "model": self.call.model_name,
            "output": [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "prompt_cache_key": body.get("prompt_cache_key"),
            "prompt_cache_diagnostics": self._heading.diagnosis,
            "reasoning": {"effort": shared.table_of(body, "reasoning").get("effort"), "summary": None},
            "service_tier": "default",
            "store": body.get("store") is not False,
            "temperature": body.get("temperature", 1.0),
            "text": {"format": {"type": "text"}, **shared.table_of(body, "text")},
            "tool_choice": "auto",
            "tools": body.get("tools") or [],
            "top_p": body.get("top_p", 1.0),
            "truncation": "disabled",
            "usage": None,
            "metadata": body.get("metadata") or {},
        }

    def _usage(self, usage: Usage) -> dict[str, Any]:
        details = shared.input_details(usage, self.call.model)
        by_lifetime = usage.found.written_tokens if self.call.model.cache_options else {}
        details["cache_write_tokens_details"] = {
            f"ttl_{name}_tokens": by_lifetime.get(lifetime, 0) for name, lifetime in shared.LIFETIMES.items()
        }
        return {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": details,
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        }

    def _event(self, name: str, **fields: Any) -> bytes:
        self._sequence += 1
        data = {"type": name, "sequence_number": self._sequence, **fields}
        return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"

    def _set_delta_head(self) -> None:
        fields = {
            "type": "response.output_text.delta",
            "item_id": self._item["id"],
            "output_index": self._output,
            "content_index": 0,
        }
        head = orjson.dumps(fields)[:-1]
        self._delta_head = b"event: response.output_text.delta\ndata: " + head + b',"delta":'
