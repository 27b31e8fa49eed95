"""Decides what is remembered of a request whatever it asks for, and what becomes of its connection when it goes
wrong.

Refuses to know what is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from simulators.connections import dropped
from simulators.journal import Entry
from simulators.script import Act, Broken
from simulators.world import World

_SECRET = frozenset({"x-api-key", "authorization", "x-subscription-token"})


async def visited(
    request: web.Request, endpoint: str, world: World, answer: Callable[[Entry], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer a request and keep the journal: a caller who leaves is `disconnected`, a break on purpose
    `faulted`."""
    shown = {name: "***" if name in _SECRET else value for name, value in headers_of(request).items()}
    entry = world.journal.open(endpoint, headers=shown, new_connection=world.connections.is_new(request))
    outcome = "failed"
    try:
        response = await answer(entry)
        outcome = "complete"
    except asyncio.CancelledError:
        outcome = "disconnected"
        raise
    except Broken as broken:
        outcome = "faulted"
        return dropped(request, hard=broken.act is Act.RESET)
    except ConnectionError:
        outcome = "disconnected"
        return dropped(request, hard=False)
    finally:
        world.journal.close(entry, outcome)
    return response


def headers_of(request: web.Request) -> dict[str, str]:
    """The headers, names in lower case."""
    return {name.lower(): value for name, value in request.headers.items()}
