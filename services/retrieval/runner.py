"""Where the search of the catalogue runs: on the event loop while it is short, on a thread once it is not.

Decides that by measuring: a search that holds the loop for a millisecond delays every other request by as much, while
handing it to a thread costs a tenth of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Protocol

from headway.deadline import Clock
from services.retrieval.policy import Rung
from services.retrieval.search import Found, Wish

LONGEST_ON_LOOP = 0.001
"""Seconds."""


class Searches(Protocol):
    """Searches the catalogue without waiting for anything."""

    def search(self, wish: Wish, rung: Rung) -> Found: ...


class SearchRunner:
    """Runs searches of one catalogue. An async context manager; leaving it waits for no search."""

    def __init__(self, catalogue: Searches, *, on_loop: bool, threads: int = 2) -> None:
        self._catalogue = catalogue
        self.on_loop = on_loop
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> SearchRunner:
        if not self.on_loop:
            self._pool = ThreadPoolExecutor(max_workers=self._threads, thread_name_prefix="search")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def search(self, wish: Wish, rung: Rung) -> Found:
        """What the catalogue has. A caller that leaves does not stop a search that runs, only one that waits."""
        if self._pool is None:
            return self._catalogue.search(wish, rung)
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._catalogue.search, wish, rung)


def typical_cost(catalogue: Searches, wishes: Sequence[Wish], clock: Clock) -> float:
    """The median of the seconds that these searches take, each run once to warm up and once for the measure."""
    for wish in wishes:
        catalogue.search(wish, Rung.HYBRID)
    spans = []
    for wish in wishes:
        before = clock()
        catalogue.search(wish, Rung.HYBRID)
        spans.append(clock() - before)
    return sorted(spans)[len(spans) // 2] if spans else 0.0
