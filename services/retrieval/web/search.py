"""The seam between retrieval and web search, and what can go wrong there.

Decides which classes of failure are told apart. Adapters live beside this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import aiohttp
import orjson

from headway.ledger import Degradation
from services.retrieval.web.results import WebResult

MAX_ANSWER_BYTES = 1 << 20
"""A search result is some kilobytes; what is larger is not one."""


class WebSearch(Protocol):
    """Searches the web. ``name`` is that of the adapter."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, *, count: int, timeout: float) -> Sequence[WebResult]:
        """At most ``count`` results within ``timeout`` seconds. Raises WebSearchError; cancelling closes the call."""


class WebSearchError(Exception):
    """A web search failed. ``degradation`` is its class, ``outcome`` the word for the ledger; the message is for a
    person."""

    def __init__(self, degradation: Degradation, outcome: str, message: str) -> None:
        super().__init__(message)
        self.degradation = degradation
        self.outcome = outcome


async def answered(provider: str, call: Any, timeout: float) -> Any:
    """The JSON that a request (a context manager of aiohttp) is answered with. Raises WebSearchError by class of
    failure."""
    try:
        async with call as response:
            _check_status(provider, response)
            body = await _bounded(provider, response)
    except TimeoutError as fault:
        text = f"{provider} did not answer within {timeout * 1000:.0f} ms"
        raise WebSearchError(Degradation.OUT_OF_TIME, "timeout", text) from fault
    except aiohttp.ClientError as fault:
        text = f"{provider} cannot be reached: {type(fault).__name__}"
        raise WebSearchError(Degradation.UPSTREAM_UNAVAILABLE, "unreachable", text) from fault
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as fault:
        raise unusable(provider, "its answer is not JSON") from fault


def unusable(provider: str, why: str) -> WebSearchError:
    """The failure for an answer that has not the shape it should have."""
    return WebSearchError(Degradation.INVALID_OUTPUT, "invalid_output", f"{provider} cannot be used: {why}")


def _check_status(provider: str, response: aiohttp.ClientResponse) -> None:
    status = response.status
    if status in (401, 403):
        text = f"{provider} refused the key ({status}); check the configured one"
        raise WebSearchError(Degradation.NOT_AUTHORISED, "not_authorised", text)
    if status in (429, 432, 433):  # the last two are how Tavily says that a plan's quota is used up
        raise WebSearchError(
            Degradation.RATE_LIMITED, "rate_limited", f"{provider} refused the call for its rate ({status})"
        )
    if status != 200:
        text = f"{provider} answered with status {status}"
        raise WebSearchError(Degradation.UPSTREAM_UNAVAILABLE, "failed", text)


async def _bounded(provider: str, response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise unusable(provider, f"its answer is longer than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)
