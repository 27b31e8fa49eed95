"""The HTTP session of an adapter: pooled, kept alive and warmed.

Decides how many connections there are and how long they stay. Sends nothing that costs money: warming opens a
connection with a request to the root of the host, whatever the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from headway.request import current_or_none

CONNECTIONS = 64
IDLE = 90.0
"""Seconds that an unused connection is kept; providers close theirs after about a minute and a half."""
_WARMING = 2.0


@asynccontextmanager
async def session(base_url: str, headers: dict[str, str]) -> AsyncIterator[aiohttp.ClientSession]:
    """A session whose first connection to ``base_url`` is opened in the background; closed when the block is left."""
    connector = aiohttp.TCPConnector(
        limit=CONNECTIONS, limit_per_host=CONNECTIONS, keepalive_timeout=IDLE, ttl_dns_cache=300
    )
    # Cookies would tie the requests of different people together.
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, headers=headers, cookie_jar=jar, trust_env=True) as opened:
        warming = asyncio.create_task(_warm(opened, base_url), name="web.warming")
        try:
            yield opened
        finally:
            warming.cancel()
            with suppress(asyncio.CancelledError):
                await warming


def trace_headers() -> Mapping[str, str] | None:
    """What leads the provider's own traces back to this request, where that is switched on."""
    scope = current_or_none()
    return scope.span.provider_headers() if scope is not None else None


async def _warm(opened: aiohttp.ClientSession, base_url: str) -> None:
    """Name, connection and TLS are then paid for before the first query; a failure shows when one comes."""
    parts = urlsplit(base_url)
    root = urlunsplit((parts.scheme, parts.netloc, "/", "", ""))
    with suppress(aiohttp.ClientError, TimeoutError, OSError):
        async with opened.head(root, timeout=aiohttp.ClientTimeout(total=_WARMING), allow_redirects=False):
            pass
