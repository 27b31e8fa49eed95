"""Calls the provider simulator as the mesh does, without the mesh: the same prompts, the same SDK, one pooled client.

Decides what "directly" means. Two ways of reading, because the SDK's typed events cost more than the bytes: ``typed``
iterates over them as the SDK's documentation shows, ``raw`` takes the response body from the SDK and reads its events
itself, which is what the mesh does. Knows nothing of levels and blocks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2
import orjson

from bench.mesh_samples import Sample

TIMEOUT = 60.0
Body = Mapping[str, Any]
"""A request of the Messages API as the mesh sent it. The SDK's signatures take no such mapping: clients are Any."""
Texts = Callable[[Any, Body], AsyncIterator[str]]


@asynccontextmanager
async def clients(base_url: str) -> AsyncIterator[dict[str, anthropic.AsyncAnthropic]]:
    """The client of each way of reading: ``typed`` as the SDK makes it by default, ``raw`` on aiohttp as the mesh's."""
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=500, keepalive_expiry=60.0)
    known: dict[str, Any] = {"api_key": "simulated", "base_url": base_url, "max_retries": 0}
    async with (
        anthropic.AsyncAnthropic(**known, http_client=anthropic.DefaultAsyncHttpxClient(limits=limits)) as typed,
        anthropic.AsyncAnthropic(**known, http_client=anthropic.DefaultAioHttpClient(limits=limits)) as raw,
    ):
        yield {"typed": typed, "raw": raw}


async def typed_texts(client: Any, body: Body) -> AsyncIterator[str]:
    """Text as the SDK's typed events bring it."""
    stream = await client.messages.create(**body)
    async for event in stream:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            yield event.delta.text


async def raw_texts(client: Any, body: Body) -> AsyncIterator[str]:
    """Text read from the bytes of the response; complete events only, ended by an empty line."""
    async with client.messages.with_streaming_response.create(**body) as response:
        rest = b""
        async for chunk in response.http_response.aiter_bytes():
            *events, rest = (rest + chunk).split(b"\n\n")
            for event in events:
                data = orjson.loads(event[event.index(b"data:") + 5 :])
                if data["type"] == "content_block_delta" and data["delta"]["type"] == "text_delta":
                    yield data["delta"]["text"]


async def ask(client: Any, texts: Texts, bodies: Sequence[Body]) -> Sample:
    """Makes all calls of one request at once. Raises what the SDK raises, and TimeoutError."""
    reading = _Reading(began=time.perf_counter())
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as calls:
        for body in bodies:
            calls.create_task(_read(texts(client, body), reading))
    total = time.perf_counter() - reading.began
    if reading.first_item is None:
        raise RuntimeError("the provider simulator wrote no item when it was asked directly")
    return Sample(first_item=reading.first_item, total=total, items=reading.items)


@dataclass(slots=True, kw_only=True)
class _Reading:
    began: float
    first_item: float | None = None
    items: int = 0


async def _read(texts: AsyncIterator[str], reading: _Reading) -> None:
    items = ItemCounter()
    async for text in texts:
        found = items.feed(text)
        if found and reading.first_item is None:
            reading.first_item = time.perf_counter() - reading.began
        reading.items += found


class ItemCounter:
    """Counts complete items in ``{"items": [...]}`` while it comes in: objects that close at the depth of the array's
    elements. Takes well-formed JSON only, which is what the simulator writes when it is given a schema.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, text: str) -> int:
        """The items that this piece completes."""
        found = 0
        for character in text:
            if self._in_string:
                if self._escaped:
                    self._escaped = False
                elif character == "\\":
                    self._escaped = True
                elif character == '"':
                    self._in_string = False
            elif character == '"':
                self._in_string = True
            elif character == "{":
                self._depth += 1
            elif character == "}":
                found += self._depth == 2
                self._depth -= 1
        return found
