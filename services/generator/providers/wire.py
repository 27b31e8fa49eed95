"""What all providers share on the wire: pooled connections, and a response body as events and pieces.

Decides how connections are kept and that bodies are read raw: the SDKs build the request, but their typed event
objects cost several times what the bytes cost (docs/decisions/0003-raw-sse.md). Knows no provider's events: what they
mean is said by a ``Decoding``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Protocol

import httpx2
import orjson

from headway.request import current_or_none
from services.generator.sse import MAX_EVENT_BYTES, EventStream, EventTooLarge
from services.generator.upstream import Ended, Failure, Piece, UpstreamError

LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=60.0)
"""Kept for a minute: longer than the pause between requests on a busy service, shorter than load balancers wait."""
CONNECT_SECONDS = 5.0
DRAIN_SECONDS = 0.02
HEADERS = {"accept-encoding": "identity"}
"""Compression buffers, and these events are short."""


class Decoding(Protocol):
    """What the events of one answer mean. Made anew for each answer."""

    def take(self, name: bytes, data: bytes) -> Piece | None:
        """What one event says, or None when it says nothing that matters. Raises UpstreamError for an error inside
        the stream; LookupError, TypeError, AttributeError or ValueError for an event of an unknown shape."""

    def close(self) -> Ended:
        """The body has ended without an end marker. Raises UpstreamError when the answer is not whole."""


def timeout(span: float) -> httpx2.Timeout:
    """Limits for a call that may take ``span`` seconds. Reading has none of its own: the caller watches over
    content, which a timer per read cannot, since pings keep it alive."""
    return httpx2.Timeout(connect=min(span, CONNECT_SECONDS), read=None, write=span, pool=span)


def trace_headers() -> Mapping[str, str] | None:
    """What leads the provider's own traces back to this request, where that is switched on."""
    scope = current_or_none()
    return scope.span.provider_headers() if scope is not None else None


async def pieces(response: httpx2.Response, decoding: Decoding) -> AsyncGenerator[Piece, None]:
    """What an answer says, as it comes; texts of one read as one piece. Raises UpstreamError, always after what came
    before the fault was given out."""
    async with aclosing(events(response)) as batches:
        async for batch in batches:
            texts: list[str] = []
            said: Piece | None = None
            fault: UpstreamError | None = None
            for name, data in batch:
                try:
                    said = decoding.take(name, data)
                except UpstreamError as error:
                    fault = error
                    break
                except (LookupError, TypeError, AttributeError, ValueError) as error:
                    # What reads the events trusts their shape; one that has another is no event of the protocol.
                    fault = UpstreamError(Failure.INVALID_STREAM, f"an event has an unknown shape: {error!r}")
                    break
                if isinstance(said, str):
                    texts += [said] if said else []  # nothing is no content
                elif said is not None:
                    if texts:
                        yield "".join(texts)
                        texts = []
                    if isinstance(said, Ended):
                        await drained(batches)
                        yield said
                        return
                    yield said
            if texts:
                yield "".join(texts)
            if fault is not None:
                raise fault
    yield decoding.close()


async def events(response: httpx2.Response) -> AsyncGenerator[list[tuple[bytes, bytes]], None]:
    """The events of each piece of the body; a body of plain JSON, as some servers answer in spite of what was asked,
    is one event. Raises UpstreamError when the connection breaks or the body is neither."""
    stream = EventStream()
    held = bytearray() if _is_json(response) else None
    try:
        async for chunk in response.aiter_bytes():
            if held is not None:
                held += chunk
                if len(held) > MAX_EVENT_BYTES:
                    raise EventTooLarge(f"an answer in one piece is longer than {MAX_EVENT_BYTES} bytes")
            elif found := stream.feed(chunk):
                yield found
    except httpx2.HTTPError as fault:
        raise broken(fault) from fault
    except EventTooLarge as fault:
        raise UpstreamError(Failure.INVALID_STREAM, str(fault)) from fault
    if held:
        yield [(b"", bytes(held))]


def _is_json(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


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


def count(value: object) -> int:
    """A number of tokens out of a usage object; what is none counts as 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return 0
    return int(value)


def table(value: object) -> Mapping[str, Any]:
    """A JSON object, or an empty one for anything else. For what is welcome but not worth an answer when it is
    missing or odd."""
    return value if isinstance(value, Mapping) else {}


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
