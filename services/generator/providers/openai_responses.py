"""OpenAI's Responses API as a provider: the other wire that OpenAI's models can be asked over.

Decides how a call is written for it and what its events mean. The prefix is the instructions; the schema, when there
is one, is the strict text format. Nothing is stored there. Knows no item and no deadline.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import openai

from headway.ledger import Usage
from services.generator.providers import failures, wire
from services.generator.providers.openai import client, touched
from services.generator.upstream import Call, Ended, Failure, Piece, Stop, UpstreamError

LEAST_OUTPUT_TOKENS = 16
"""A lower limit is refused."""
_STOPS = {"max_output_tokens": Stop.MAX_TOKENS, "content_filter": Stop.REFUSAL}
_DONE = b"[DONE]"


@asynccontextmanager
async def connected(*, base_url: str, api_key: str) -> AsyncIterator[OpenAIResponsesProvider]:
    """The provider with its one client, for the life of the process. No retries of the SDK's own."""
    async with client(base_url=base_url, api_key=api_key) as opened:
        yield OpenAIResponsesProvider(opened)


class OpenAIResponsesProvider:
    """Streams answers of one endpoint."""

    def __init__(self, opened: openai.AsyncOpenAI) -> None:
        self._client = opened

    async def stream(self, call: Call) -> AsyncGenerator[Piece, None]:
        """See ``services.generator.upstream.Provider``."""
        try:
            async with self._client.responses.with_streaming_response.create(
                **_arguments(call), timeout=wire.timeout(call.timeout), extra_headers=wire.trace_headers()
            ) as response:
                async with aclosing(wire.pieces(response.http_response, ResponseEvents())) as pieces:
                    async for piece in pieces:
                        yield piece
        except openai.APIStatusError as fault:
            raise failures.of_response(fault.status_code, fault.body, fault.response.headers) from fault
        except openai.APIConnectionError as fault:
            raise wire.broken(fault) from fault

    async def warm(self, connections: int, within: float) -> str:
        """Opens connections and makes the SDK ready; an empty string, or what went wrong."""
        return await wire.warmed(lambda: touched(self._client), connections, within)


def _arguments(call: Call) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": call.model,
        "stream": True,
        "store": False,
        "instructions": call.prefix,
        "input": [{"role": "user", "content": call.message}],
        "max_output_tokens": max(LEAST_OUTPUT_TOKENS, call.max_tokens),
    }
    if call.schema is not None:
        form = {"type": "json_schema", "name": "items", "schema": call.schema, "strict": True}
        arguments["text"] = {"format": form}
    if call.effort:
        arguments["reasoning"] = {"effort": call.effort}
    if call.vendor_options:
        arguments |= {"prompt_cache_key": call.cache_key, "stream_options": {"include_obfuscation": False}}
    return arguments


class ResponseEvents:
    """What the events of one response mean; see ``wire.Decoding``."""

    def __init__(self) -> None:
        self._refused = False

    def take(self, name: bytes, data: bytes) -> Piece | None:
        """See ``wire.Decoding``."""
        if data == _DONE:
            return self.close()
        event = wire.parsed(data)
        if not isinstance(event, dict):
            return None
        kind = event.get("type")
        if kind == "response.output_text.delta":
            return _worded(event["delta"])
        if kind == "error" or (event.get("error") and event.get("object") != "response"):
            raise failures.of_event(event)
        if kind == "response.refusal.delta":
            self._refused = True
        if kind == "response.failed":
            raise failures.of_event(event["response"])
        if kind in ("response.completed", "response.incomplete"):
            return self._ended(event["response"])
        return None

    def _ended(self, response: Mapping[str, Any]) -> Ended:
        usage = _usage(response["usage"]) if response.get("usage") else None
        if self._refused:
            return Ended(Stop.REFUSAL, usage)
        if response.get("status") == "incomplete":
            reason = wire.table(response.get("incomplete_details")).get("reason")
            if reason not in _STOPS:
                raise UpstreamError(Failure.CUT_OFF, f"the response is incomplete: {reason}")
            return Ended(_STOPS[reason], usage)
        return Ended(Stop.END, usage)

    def close(self) -> Ended:
        """See ``wire.Decoding``."""
        raise UpstreamError(Failure.CUT_OFF, "the stream ended without response.completed")


def _worded(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError("a text that is none")
    return text


def _usage(said: object) -> Usage:
    """The tokens of a whole answer; the input includes what was cached, the output what was thought."""
    told = wire.table(said)
    details = wire.table(told.get("input_tokens_details"))
    return Usage(
        input_tokens=wire.count(told.get("input_tokens")),
        output_tokens=wire.count(told.get("output_tokens")),
        cache_read_tokens=wire.count(details.get("cached_tokens")),
        cache_write_tokens=wire.count(details.get("cache_write_tokens")),
    )
