"""What both providers share on the wire: pooled connections, and a response body as events.

Decides how connections are kept and that bodies are read raw: the SDKs build the request, but their typed event
objects cost several times what the bytes cost (docs/decisions/0003-raw-sse.md). Knows no provider's events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import httpx2
import orjson

from headway.request import current_or_none
from services.generator.sse import EventStream, EventTooLarge
from services.generator.upstream import Failure, UpstreamError

LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=60.0)
"""Kept for a minute: longer than the pause between requests on a busy service, shorter than load balancers wait."""
CONNECT_SECONDS = 5.0
DRAIN_SECONDS = 0.02
HEADERS = {"accept-encoding": "identity"}
"""Compression buffers, and these events are short."""


def timeout(span: float) -> httpx2.Timeout:
    """Limits for a call that may take ``span`` seconds. Reading has none of its own: the caller watches over
    content, which a timer per read cannot, since pings keep it alive."""
    return httpx2.Timeout(connect=min(span, CONNECT_SECONDS), read=None, write=span, pool=span)


def trace_headers() -> Mapping[str, str] | None:
    """What leads the provider's own traces back to this request, where that is switched on."""
    scope = current_or_none()
    return scope.span.provider_headers() if scope is not None else None


async def events(response: httpx2.Response) -> AsyncIterator[list[tuple[bytes, bytes]]]:
    """The events of each piece of the body. Raises UpstreamError when the connection breaks or the body is no event
    stream."""
    stream = EventStream()
    try:
        async for chunk in response.aiter_bytes():
            if found := stream.feed(chunk):
                yield found
    except httpx2.HTTPError as fault:
        raise broken(fault) from fault
    except EventTooLarge as fault:
        raise UpstreamError(Failure.INVALID_STREAM, str(fault)) from fault


def broken(fault: BaseException) -> UpstreamError:
    """The error of a connection that could not be made or did not hold.

    The first cause tells a timeout from the rest: the SDKs' names for it differ between their transports, and
    OpenAI's calls a reset a timeout.
    """
    first = fault
    while first.__cause__ is not None:
        first = first.__cause__
    failure = Failure.TIMEOUT if isinstance(first, TimeoutError) else Failure.CONNECTION
    return UpstreamError(failure, repr(first))


async def drained(pieces: AsyncIterator[object]) -> None:
    """Reads what follows the end marker, normally just the end of the body, so that the connection can be used
    again."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in pieces:
                pass
    except (TimeoutError, UpstreamError):
        return  # the answer is whole; only the connection is lost


def parsed(data: bytes) -> Any:
    """The JSON of one event. Raises UpstreamError when it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(data)  # takes halves of surrogate pairs, which some servers send in two events
    except ValueError as fault:
        raise UpstreamError(Failure.INVALID_STREAM, f"an event is not JSON: {fault}") from fault


async def warmed(connect: Callable[[], Awaitable[object]], connections: int, within: float) -> str:
    """Opens that many connections. An empty string, or what went wrong; nothing is given up for it."""
    try:
        async with asyncio.timeout(within):
            await asyncio.gather(*(connect() for _ in range(connections)))
    except TimeoutError:
        return f"no connection within {within:g} s"
    except UpstreamError as fault:
        return str(fault)
    return ""
