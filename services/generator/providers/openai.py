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


def client(*, base_url: str, api_key: str) -> openai.AsyncOpenAI:
    """The SDK's client as all wires of this provider use it. No retries of the SDK's own: they are the caller's
    decision."""
    return openai.AsyncOpenAI(
        api_key=api_key,
        base_url=base_url,
        max_retries=0,
        default_headers=wire.HEADERS,
        http_client=openai.DefaultAioHttpClient(limits=wire.LIMITS),
    )


async def touched(opened: openai.AsyncOpenAI) -> None:
    """Opens one connection. Raises UpstreamError when that cannot be done."""
    try:
        await opened.get("/models", cast_to=httpx2.Response)
    except openai.APIStatusError:
        return  # any answer has opened the connection; whether the key is good shows at the first call
    except openai.APIConnectionError as fault:
        raise wire.broken(fault) from fault


@asynccontextmanager
async def connected(*, base_url: str, api_key: str) -> AsyncIterator[OpenAIProvider]:
    """The provider with its one client, for the life of the process."""
    async with client(base_url=base_url, api_key=api_key) as opened:
        yield OpenAIProvider(opened)


class OpenAIProvider:
    """Streams answers of one endpoint."""

    def __init__(self, opened: openai.AsyncOpenAI) -> None:
        self._client = opened

    async def stream(self, call: Call) -> AsyncGenerator[Piece, None]:
        """See ``services.generator.upstream.Provider``."""
        try:
            async with self._client.chat.completions.with_streaming_response.create(
                **_arguments(call), timeout=wire.timeout(call.timeout), extra_headers=wire.trace_headers()
            ) as response:
                async with aclosing(wire.pieces(response.http_response, ChunkEvents())) as pieces:
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


class ChunkEvents:
    """What the chunks of one chat completion mean; see ``wire.Decoding``."""

    def __init__(self) -> None:
        self._usage: Usage | None = None
        self._stop = ""

    def take(self, name: bytes, data: bytes) -> Piece | None:
        """See ``wire.Decoding``."""
        if data == _DONE:
            return self.close()
        chunk = wire.parsed(data)
        if not isinstance(chunk, dict):
            return None
        if chunk.get("error") or chunk.get("type") == "error" or chunk.get("object") == "error":
            raise failures.of_event(chunk)
        if told := chunk.get("usage") or wire.table(chunk.get("x_groq")).get("usage"):
            self._usage = _usage(told)
        choices = chunk.get("choices")
        return self._choice(choices[0]) if choices else None

    def _choice(self, choice: Mapping[str, Any]) -> str:
        # A server that does not stream sends the whole message where others send what is new in it.
        said = choice.get("delta") or choice.get("message") or {}
        if said.get("refusal"):
            self._stop = "content_filter"
        self._stop = self._stop or choice.get("finish_reason") or ""
        return _text(said.get("content"))

    def close(self) -> Ended:
        """See ``wire.Decoding``. Without the end marker the reason for stopping will do: then nothing is missing."""
        if not self._stop:
            raise UpstreamError(Failure.CUT_OFF, "the stream ended without a finish reason")
        if self._stop == "error":
            raise UpstreamError(Failure.SERVER_ERROR, "the stream says that it ended with an error")
        return Ended(_STOPS.get(self._stop, Stop.END), self._usage)


def _text(content: object) -> str:
    """The text of a message: a string, or the text among its parts (reasoning models of some servers send parts)."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise TypeError("content that is neither text nor parts")
    parts = (wire.table(part) for part in content)
    return "".join(part["text"] for part in parts if part.get("type") == "text")


def _usage(said: object) -> Usage:
    """The tokens of a whole answer. ``prompt_tokens`` includes what was cached, by whatever name that is told."""
    told = wire.table(said)
    details = wire.table(told.get("prompt_tokens_details"))
    cached = details.get("cached_tokens", told.get("prompt_cache_hit_tokens", told.get("cached_tokens")))
    output = wire.count(told.get("completion_tokens"))
    thought = wire.count(wire.table(told.get("completion_tokens_details")).get("reasoning_tokens"))
    read = wire.count(told.get("prompt_tokens"))
    if thought and wire.count(told.get("total_tokens")) == read + output + thought:
        output += thought  # some servers count what was thought beside what was written
    return Usage(
        input_tokens=read,
        output_tokens=output,
        cache_read_tokens=wire.count(cached),
        cache_write_tokens=wire.count(details.get("cache_write_tokens")),
    )
