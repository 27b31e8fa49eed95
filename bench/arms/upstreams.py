"""How an arm reaches what is outside: with connections of its own for each call, or with kept and warmed ones.

Decides lifetimes of clients. The official SDKs and a plain HTTP client, as anyone would use them. Refuses to know what
is asked.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import anthropic
import httpx2
import openai

TIMEOUT = 60.0
"""Seconds after which a client gives up by itself; longer than anybody waits."""
WARM_CONNECTIONS = 4
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where everything is, and the key that keeps one arm's prompt cache apart from another's."""

    anthropic: str
    openai: str
    web: str
    vectors: str
    key: str


class Upstreams(Protocol):
    """Clients, each for the length of a block."""

    def model(self) -> AbstractAsyncContextManager[anthropic.AsyncAnthropic]: ...
    def embeddings(self) -> AbstractAsyncContextManager[openai.AsyncOpenAI]: ...
    def http(self) -> AbstractAsyncContextManager[httpx2.AsyncClient]: ...


class FreshUpstreams:
    """New clients and so new connections each time. Only the TLS settings are shared: reading the certificates, some
    20 ms of processor time for each client, would hold up the other arms, and the simulators speak plain HTTP."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._tls = ssl.create_default_context()

    def model(self) -> AbstractAsyncContextManager[anthropic.AsyncAnthropic]:
        return anthropic.AsyncAnthropic(
            api_key=self._addresses.key,
            base_url=self._addresses.anthropic,
            max_retries=0,
            timeout=TIMEOUT,
            open_telemetry=False,
            http_client=anthropic.DefaultAsyncHttpxClient(verify=self._tls),
        )

    def embeddings(self) -> AbstractAsyncContextManager[openai.AsyncOpenAI]:
        return openai.AsyncOpenAI(
            api_key=self._addresses.key,
            base_url=self._addresses.openai,
            max_retries=0,
            timeout=TIMEOUT,
            http_client=openai.DefaultAsyncHttpxClient(verify=self._tls),
        )

    def http(self) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
        return httpx2.AsyncClient(timeout=TIMEOUT, verify=self._tls)


class KeptUpstreams:
    """One client of each kind for the life of the process. Made by `kept`."""

    def __init__(
        self, model: anthropic.AsyncAnthropic, embeddings: openai.AsyncOpenAI, http: httpx2.AsyncClient
    ) -> None:
        self._model = model
        self._embeddings = embeddings
        self._http = http

    def model(self) -> AbstractAsyncContextManager[anthropic.AsyncAnthropic]:
        return nullcontext(self._model)

    def embeddings(self) -> AbstractAsyncContextManager[openai.AsyncOpenAI]:
        return nullcontext(self._embeddings)

    def http(self) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
        return nullcontext(self._http)


@asynccontextmanager
async def kept(addresses: Addresses) -> AsyncIterator[KeptUpstreams]:
    """Clients with pooled connections, some of them opened before the first call."""
    async with AsyncExitStack() as lifetimes:
        model = await lifetimes.enter_async_context(
            anthropic.AsyncAnthropic(
                api_key=addresses.key,
                base_url=addresses.anthropic,
                max_retries=0,
                timeout=TIMEOUT,
                open_telemetry=False,
                http_client=anthropic.DefaultAioHttpClient(limits=LIMITS),
            )
        )
        embeddings = await lifetimes.enter_async_context(
            openai.AsyncOpenAI(
                api_key=addresses.key,
                base_url=addresses.openai,
                max_retries=0,
                timeout=TIMEOUT,
                http_client=openai.DefaultAioHttpClient(limits=LIMITS),
            )
        )
        http = await lifetimes.enter_async_context(httpx2.AsyncClient(timeout=TIMEOUT, limits=LIMITS))
        await asyncio.gather(*(model.models.list() for _ in range(WARM_CONNECTIONS)))
        yield KeptUpstreams(model, embeddings, http)
