"""Decides what happens to a caller's connection: whether it is new, and how it is broken. Refuses to know why."""

from __future__ import annotations

import socket
import struct
from weakref import WeakSet

from aiohttp import web

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of zero: closing discards what is unsent and sends RST instead of FIN."""


class Connections:
    """Remembers which connections have carried a request already."""

    def __init__(self) -> None:
        self._seen: WeakSet[object] = WeakSet()

    def is_new(self, request: web.Request) -> bool:
        """Whether this is the first request on its connection."""
        transport = request.transport
        if transport is None or transport in self._seen:
            return False
        self._seen.add(transport)
        return True


def dropped(request: web.Request, *, hard: bool) -> web.StreamResponse:
    """Drop the connection, with a reset when `hard`; the response that comes back goes nowhere."""
    transport = request.transport
    if transport is not None:
        if hard:
            plug = transport.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        transport.abort()
    return web.Response(status=499)
