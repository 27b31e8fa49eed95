"""OpenAI's Chat Completions as a provider, and any server that speaks them.

Decides how a call is written for it and what its chunks mean. The prefix is the first message; the schema, when
there is one, is the strict response format. Knows no item and no deadline.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import openai

from headway.ledger import Usage
from services.generator.providers import failures, wire
from services.generator.upstream import Call, Ended, Failure, Piece, Stop, UpstreamError

_STOPS = {"length": Stop.MAX_TOKENS, "content_filter": Stop.REFUSAL}
_DONE = b"[DONE]"


@asynccontextmanager
async def connected(*, base_url: str, api_key: str) -> AsyncIterator[OpenAIProvider]:
    """The provider with its one client, for the life of the process. No retries of the SDK's own."""
    async with openai.AsyncOpenAI(
        api_key=api_key,
        base_url=base_url,
        max_retries=0,
        default_headers=wire.HEADERS,
        http_client=openai.DefaultAioHttpClient(limits=wire.LIMITS),
    ) as client:
        yield OpenAIProvider(client)


class OpenAIProvider:
    """Streams answers of one endpoint."""

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        self._client = client

    async def stream(self, call: Call) -> AsyncGenerator[Piece, None]:
        """See ``services.generator.upstream.Provider``."""
        try:
            async with self._client.chat.completions.with_streaming_response.create(
                **_arguments(call), timeout=wire.timeout(call.timeout), extra_headers=wire.trace_headers()
            ) as response:
                async with aclosing(_pieces(response.http_response)) as pieces:
                    async for piece in pieces:
                        yield piece
        except openai.APIStatusError as fault:
            raise failures.of_response(fault.status_code, fault.body, fault.response.headers) from fault
        except openai.APIConnectionError as fault:
            raise wire.broken(fault) from fault
        except (LookupError, TypeError, AttributeError) as fault:
            # What reads the events trusts their shape; one that has another is no event of the protocol.
            raise UpstreamError(Failure.INVALID_STREAM, f"an event has an unknown shape: {fault!r}") from fault

    async def warm(self, connections: int, within: float) -> str:
        """Opens connections and makes the SDK ready; an empty string, or what went wrong."""
        return await wire.warmed(self._touch, connections, within)

    async def _touch(self) -> None:
        try:
            await self._client.get("/models", cast_to=httpx2.Response)
        except openai.APIStatusError:
            return  # any answer has opened the connection; whether the key is good shows at the first call
        except openai.APIConnectionError as fault:
            raise wire.broken(fault) from fault


def _arguments(call: Call) -> dict[str, Any]:
    options: dict[str, Any] = {"include_usage": True}
    arguments: dict[str, Any] = {
        "model": call.model,
        "stream": True,
        "stream_options": options,
        "messages": [{"role": "system", "content": call.prefix}, {"role": "user", "content": call.message}],
        call.limit_field: call.max_tokens,
    }
    if call.schema is not None:
        described = {"name": "items", "schema": call.schema, "strict": True}
        arguments["response_format"] = {"type": "json_schema", "json_schema": described}
    if call.effort:
        arguments["reasoning_effort"] = call.effort
    if call.vendor_options:
        options["include_obfuscation"] = False
        arguments |= {"prompt_cache_key": call.cache_key, "store": False}
    return arguments


async def _pieces(response: httpx2.Response) -> AsyncGenerator[Piece, None]:
    usage: Usage | None = None
    stop = ""
    async with aclosing(wire.events(response)) as batches:  # type: ignore[type-var]  # an async generator it is
        async for batch in batches:
            texts: list[str] = []
            for _, data in batch:
                if data == _DONE:
                    if texts:
                        yield "".join(texts)
                    if not stop:
                        raise UpstreamError(Failure.CUT_OFF, "the stream ended without a finish reason")
                    await wire.drained(batches)
                    yield Ended(_STOPS.get(stop, Stop.END), usage)
                    return
                chunk = wire.parsed(data)
                if not isinstance(chunk, dict):
                    continue
                if chunk.get("error") or chunk.get("type") == "error":
                    if texts:
                        yield "".join(texts)
                    raise failures.of_event(chunk)
                if choices := chunk.get("choices"):
                    choice = choices[0]
                    delta = choice.get("delta") or {}
                    if text := delta.get("content"):
                        texts.append(text)
                    if delta.get("refusal"):
                        stop = "content_filter"
                    stop = stop or choice.get("finish_reason") or ""
                if told := chunk.get("usage"):
                    usage = _usage(told)
            if texts:
                yield "".join(texts)
    if not stop:
        raise UpstreamError(Failure.CUT_OFF, "the stream ended without a finish reason")
    # The end marker is missing, but the reason for stopping was given, so nothing is.
    yield Ended(_STOPS.get(stop, Stop.END), usage)


def _usage(told: Mapping[str, Any]) -> Usage:
    details = told.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=told.get("prompt_tokens") or 0,
        output_tokens=told.get("completion_tokens") or 0,
        cache_read_tokens=details.get("cached_tokens") or 0,
        cache_write_tokens=details.get("cache_write_tokens") or 0,
    )
