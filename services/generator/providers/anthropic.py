"""Anthropic's Messages API as a provider.

Decides how a call is written for it and what its events mean. The prefix is one system block with a cache
breakpoint; the schema, when there is one, is the structured output format. Knows no item and no deadline.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anthropic
import httpx2

from headway.ledger import Usage
from services.generator.providers import failures, wire
from services.generator.upstream import Call, Ended, Failure, Piece, Started, Stop, UpstreamError

_STOPS = {
    "max_tokens": Stop.MAX_TOKENS,
    "model_context_window_exceeded": Stop.MAX_TOKENS,
    "refusal": Stop.REFUSAL,
}


@asynccontextmanager
async def connected(*, base_url: str, api_key: str) -> AsyncIterator[AnthropicProvider]:
    """The provider with its one client, for the life of the process. No retries and no tracing of the SDK's own:
    both are the caller's decisions."""
    async with anthropic.AsyncAnthropic(
        api_key=api_key,
        base_url=base_url,
        max_retries=0,
        open_telemetry=False,
        default_headers=wire.HEADERS,
        http_client=anthropic.DefaultAioHttpClient(limits=wire.LIMITS),
    ) as client:
        yield AnthropicProvider(client)


class AnthropicProvider:
    """Streams answers of one endpoint."""

    def __init__(self, client: anthropic.AsyncAnthropic) -> None:
        self._client = client

    async def stream(self, call: Call) -> AsyncGenerator[Piece, None]:
        """See ``services.generator.upstream.Provider``."""
        try:
            async with self._client.messages.with_streaming_response.create(
                **_arguments(call), timeout=wire.timeout(call.timeout), extra_headers=wire.trace_headers()
            ) as response:
                async with aclosing(wire.pieces(response.http_response, MessageEvents())) as pieces:
                    async for piece in pieces:
                        yield piece
        except anthropic.APIStatusError as fault:
            raise failures.of_response(fault.status_code, fault.body, fault.response.headers) from fault
        except anthropic.APIConnectionError as fault:
            raise wire.broken(fault) from fault

    async def warm(self, connections: int, within: float) -> str:
        """Opens connections and makes the SDK ready; an empty string, or what went wrong."""
        return await wire.warmed(self._touch, connections, within)

    async def _touch(self) -> None:
        try:
            await self._client.get("/v1/models", cast_to=httpx2.Response)
        except anthropic.APIStatusError:
            return  # any answer has opened the connection; whether the key is good shows at the first call
        except anthropic.APIConnectionError as fault:
            raise wire.broken(fault) from fault


def _arguments(call: Call) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": call.model,
        "max_tokens": call.max_tokens,
        "stream": True,
        "system": [{"type": "text", "text": call.prefix, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": call.message}],
    }
    output: dict[str, Any] = {}
    if call.schema is not None:
        output["format"] = {"type": "json_schema", "schema": call.schema}
    if call.effort:
        output["effort"] = call.effort
    if output:
        arguments["output_config"] = output
    return arguments


class MessageEvents:
    """What the events of one message mean; see ``wire.Decoding``."""

    def __init__(self) -> None:
        self._usage = Usage()
        self._stop = ""

    def take(self, name: bytes, data: bytes) -> Piece | None:
        """See ``wire.Decoding``."""
        if name == b"ping":
            return None
        event = wire.parsed(data)
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "content_block_delta":
            delta = event["delta"]
            return _worded(delta["text"]) if delta.get("type") == "text_delta" else None
        if kind == "content_block_start":
            block = wire.table(event.get("content_block"))
            return _worded(block.get("text")) if block.get("type") == "text" else None
        if kind == "message_start":
            self._usage = _usage(event["message"].get("usage"), self._usage)
            return Started(self._usage)
        if kind == "message_delta":
            self._usage = _usage(event.get("usage"), self._usage)
            self._stop = wire.table(event.get("delta")).get("stop_reason") or self._stop
            return None
        if kind == "error":
            raise failures.of_event(event)
        if kind == "message_stop":
            self._stop = self._stop or "end_turn"
            return self.close()
        if kind is None and isinstance(event, dict) and event.get("error"):
            raise failures.of_event(event)  # a gateway's own error, not in the provider's form
        return None

    def close(self) -> Ended:
        """See ``wire.Decoding``. Without the end marker the reason for stopping will do: then nothing is missing."""
        if not self._stop:
            raise UpstreamError(Failure.CUT_OFF, "the stream ended without message_stop")
        return Ended(_STOPS.get(self._stop, Stop.END), self._usage)


def _worded(text: object) -> str:
    if text is not None and not isinstance(text, str):
        raise TypeError("a text that is none")
    return text or ""


def _usage(said: object, before: Usage) -> Usage:
    """The usage so far; what an event leaves out or leaves null stays as it was. ``input_tokens`` of the provider
    counts only what follows the last cache breakpoint."""
    told = wire.table(said)
    read, written = told.get("cache_read_input_tokens"), told.get("cache_creation_input_tokens")
    if written is None and told.get("cache_creation"):
        written = sum(map(wire.count, wire.table(told["cache_creation"]).values()))
    cache_read = before.cache_read_tokens if read is None else wire.count(read)
    cache_write = before.cache_write_tokens if written is None else wire.count(written)
    plain_before = before.input_tokens - before.cache_read_tokens - before.cache_write_tokens
    plain = told.get("input_tokens")
    output = told.get("output_tokens")
    return Usage(
        input_tokens=(plain_before if plain is None else wire.count(plain)) + cache_read + cache_write,
        output_tokens=before.output_tokens if output is None else wire.count(output),
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
    )
