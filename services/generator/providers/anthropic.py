"""Anthropic's Messages API as a provider.

Decides how a call is written for it and what its events mean. The prefix is one system block with a cache
breakpoint; the schema, when there is one, is the structured output format. Knows no item and no deadline.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
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
                async with aclosing(_pieces(response.http_response)) as pieces:
                    async for piece in pieces:
                        yield piece
        except anthropic.APIStatusError as fault:
            raise failures.of_response(fault.status_code, fault.body, fault.response.headers) from fault
        except anthropic.APIConnectionError as fault:
            raise wire.broken(fault) from fault
        except (LookupError, TypeError, AttributeError) as fault:
            # What reads the events trusts their shape; one that has another is no event of the protocol.
            raise UpstreamError(Failure.INVALID_STREAM, f"an event has an unknown shape: {fault!r}") from fault

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


async def _pieces(response: httpx2.Response) -> AsyncGenerator[Piece, None]:
    usage, stop = Usage(), ""
    async with aclosing(wire.events(response)) as batches:  # type: ignore[type-var]  # an async generator it is
        async for batch in batches:
            texts: list[str] = []
            for name, data in batch:
                if name == b"ping":
                    continue
                event = wire.parsed(data)
                kind = event.get("type") if isinstance(event, dict) else None
                if kind == "content_block_delta":
                    if event["delta"].get("type") == "text_delta":
                        texts.append(event["delta"]["text"])
                elif kind == "message_start":
                    usage = _usage(event["message"].get("usage") or {}, usage)
                    yield Started(usage)
                elif kind == "message_delta":
                    usage = _usage(event.get("usage") or {}, usage)
                    stop = event["delta"].get("stop_reason") or stop
                elif kind == "error":
                    if texts:
                        yield "".join(texts)
                    raise failures.of_event(event)
                elif kind == "message_stop":
                    stop = stop or "end_turn"
                    if texts:
                        yield "".join(texts)
                    await wire.drained(batches)
                    yield Ended(_STOPS.get(stop, Stop.END), usage)
                    return
            if texts:
                yield "".join(texts)
    if not stop:
        raise UpstreamError(Failure.CUT_OFF, "the stream ended without message_stop")
    # The end marker is missing, but the reason for stopping was given, so nothing is.
    yield Ended(_STOPS.get(stop, Stop.END), usage)


def _usage(told: Mapping[str, Any], before: Usage) -> Usage:
    """The usage so far; what an event leaves out or leaves null stays as it was. ``input_tokens`` of the provider
    counts only what follows the last cache breakpoint."""
    read, written = told.get("cache_read_input_tokens"), told.get("cache_creation_input_tokens")
    cache_read = before.cache_read_tokens if read is None else read
    cache_write = before.cache_write_tokens if written is None else written
    plain_before = before.input_tokens - before.cache_read_tokens - before.cache_write_tokens
    plain = told.get("input_tokens")
    output = told.get("output_tokens")
    return Usage(
        input_tokens=(plain_before if plain is None else plain) + cache_read + cache_write,
        output_tokens=before.output_tokens if output is None else output,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
    )
