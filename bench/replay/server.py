"""Answers every request with one recorded answer, in the pieces that it is told. Knows no protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from aiohttp import web

from bench.replay.recordings import Recording


class Replay:
    """What is answered next. ``url`` is where."""

    def __init__(self) -> None:
        self.url = ""
        self._status = 200
        self._headers: Mapping[str, str] = {}
        self._pieces: Sequence[bytes] = ()

    def answer(self, recording: Recording, pieces: Sequence[bytes]) -> None:
        """From now on this recording is answered, each piece written for itself."""
        self._status = recording.status
        self._headers = {"content-type": "text/event-stream", **recording.headers}
        self._pieces = pieces

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(status=self._status, headers=self._headers)
        await response.prepare(request)
        with suppress(ConnectionResetError):  # whoever has what was wanted need not read on
            for piece in self._pieces:
                if piece:
                    await response.write(piece)
                    await asyncio.sleep(0)
            await response.write_eof()
        return response


@asynccontextmanager
async def replaying() -> AsyncIterator[Replay]:
    """A server on a free port of this machine."""
    replay = Replay()
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", replay._serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        replay.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield replay
    finally:
        await runner.cleanup()
