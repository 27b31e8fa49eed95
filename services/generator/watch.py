"""A limit on silence around a stream that is being read.

Decides when a reader has waited long enough: for the first content, between two pieces of it, and at all. Content
counts, not bytes: what keeps a connection alive does not move the limit. One timer for a whole stream, looked at
when it fires, so that a piece of content costs one reading of the clock.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from headway.deadline import Clock


class ContentWatch:
    """Cancels the block it surrounds, with TimeoutError, when nothing came for too long or the time is up.

    ``first_within``: seconds for the first content, ``silence``: seconds between pieces after it, ``limit``: an
    instant of ``clock`` beyond which nothing is waited for. Time in which the reader does not wait for content
    (``paused``) counts for nothing but the limit, and the limit itself does not interrupt it.
    """

    def __init__(self, *, first_within: float, silence: float, limit: float, clock: Clock) -> None:
        self._clock = clock
        self._silence = silence
        self._limit = limit
        self._due = clock() + first_within
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._scope = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> ContentWatch:
        await self._scope.__aenter__()
        self._arm()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._scope.__aexit__(kind, error, trace)

    def content(self) -> None:
        """A piece of content is there."""
        self._due = self._clock() + self._silence

    def pause(self) -> None:
        """The reader now waits for something else."""
        self._paused = True

    def resume(self) -> None:
        """The reader waits for content again."""
        self._paused = False
        self.content()

    def narrow(self, within: float) -> None:
        """Nothing is waited for longer than that many seconds from now."""
        self._limit = min(self._limit, self._clock() + within)
        if self._timer is not None:
            self._timer.cancel()
        self._arm()

    def _arm(self) -> None:
        left = min(self._due, self._limit) - self._clock()
        self._timer = self._loop.call_later(max(0.0, left), self._look)

    def _look(self) -> None:
        self._timer = None
        if self._paused:
            # Looked at again when the pause may be over; at worst that much too late.
            self._due = max(self._due, self._clock() + self._silence)
            self._timer = self._loop.call_later(self._silence, self._look)
        elif self._clock() >= min(self._due, self._limit):
            self._scope.reschedule(self._loop.time())
        else:
            self._arm()
