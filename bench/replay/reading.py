"""What an adapter makes of an answer, and what the official SDK makes of it: from bytes in memory, and over HTTP.

Decides nothing; an outcome is a value that can be compared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

from bench.replay.recordings import FOREIGN
from services.generator.providers import anthropic as anthropic_wire
from services.generator.providers import openai as chat_wire
from services.generator.providers import openai_responses as responses_wire
from services.generator.providers import wire
from services.generator.upstream import Call, Ended, Provider, Started, UpstreamError

DECODINGS: Mapping[str, Callable[[], wire.Decoding]] = {
    "anthropic": anthropic_wire.MessageEvents,
    "chat": chat_wire.ChunkEvents,
    "responses": responses_wire.ResponseEvents,
    FOREIGN: chat_wire.ChunkEvents,
}
CALL = Call(model="m", prefix="p", message="q", max_tokens=64, timeout=20.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The text that came, and how it ended: a stop with its usage, or a failure."""

    text: str
    ending: str
    usage: Any = None


class _Body:
    """As much of a response as a reader of events looks at."""

    def __init__(self, chunks: Sequence[bytes], headers: Mapping[str, str]) -> None:
        self._chunks = chunks
        self.headers = headers

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


async def decoded(protocol: str, chunks: Sequence[bytes], headers: Mapping[str, str]) -> Outcome:
    """What the adapter's reader makes of a body that comes in these pieces."""
    body: Any = _Body([chunk for chunk in chunks if chunk], headers)
    return await _outcome(wire.pieces(body, DECODINGS[protocol]()))


async def called(provider: Provider) -> Outcome:
    """What the whole adapter makes of what its server answers."""
    return await _outcome(provider.stream(CALL))


async def _outcome(pieces: Any) -> Outcome:
    texts: list[str] = []
    try:
        async for piece in pieces:
            if isinstance(piece, str):
                texts.append(piece)
            elif isinstance(piece, Ended):
                return Outcome(text="".join(texts), ending=piece.stop.value, usage=piece.usage)
            else:
                assert isinstance(piece, Started)
    except UpstreamError as fault:
        return Outcome(text="".join(texts), ending=f"{fault.failure.value}: {fault.detail}", usage=fault.retry_after)
    return Outcome(text="".join(texts), ending="nothing")


@asynccontextmanager
async def providers(url: str) -> AsyncIterator[Mapping[str, Provider]]:
    """The adapters by protocol, all pointed at one server."""
    async with (
        anthropic_wire.connected(base_url=url, api_key="none") as messages,
        chat_wire.connected(base_url=f"{url}/v1", api_key="none") as chat,
        responses_wire.connected(base_url=f"{url}/v1", api_key="none") as responses,
    ):
        yield {"anthropic": messages, "chat": chat, "responses": responses, FOREIGN: chat}


async def typed(protocol: str, url: str) -> str:
    """The text that the official SDK's typed stream gives."""
    if protocol == "anthropic":
        async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
            return await _typed_messages(client)
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        return await (_typed_chunks(client) if protocol == "chat" else _typed_responses(client))


async def _typed_messages(client: anthropic.AsyncAnthropic) -> str:
    texts = []
    messages: Any = [{"role": "user", "content": "q"}]
    async with await client.messages.create(model="m", max_tokens=64, stream=True, messages=messages) as stream:
        async for event in stream:
            if event.type == "content_block_start" and event.content_block.type == "text":
                texts.append(event.content_block.text)
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                texts.append(event.delta.text)
            elif event.type == "message_stop":
                break  # some fixtures hold several messages; an answer has one
    return "".join(texts)


async def _typed_chunks(client: openai.AsyncOpenAI) -> str:
    texts: list[str] = []
    messages: Any = [{"role": "user", "content": "q"}]
    async with await client.chat.completions.create(model="m", stream=True, messages=messages) as stream:
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta:
                said: Any = chunk.choices[0].delta.content
                parts = said if isinstance(said, list) else [{"type": "text", "text": said or ""}]
                texts += [part["text"] for part in parts if part["type"] == "text"]
    return "".join(texts)


async def _typed_responses(client: openai.AsyncOpenAI) -> str:
    texts = []
    async with await client.responses.create(model="m", stream=True, input="q", store=False) as stream:
        async for event in stream:
            if event.type == "response.output_text.delta":
                texts.append(event.delta)
            elif event.type in ("response.completed", "response.incomplete"):
                break
    return "".join(texts)
