"""Decides what is remembered of each request, for tests and for whoever wonders what was sent; refuses to decide
anything else.

What a caller did not wait for is remembered as well: a disconnect, and the tokens that were generated, and billed,
before it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

KEPT_ENTRIES = 2_000
KEPT_BODIES = 200


@dataclass(slots=True, kw_only=True)
class Entry:
    """One request. Instants are seconds since the simulators started; None while it has not come to that."""

    number: int
    endpoint: str
    """`anthropic.messages`, `openai.chat`, `openai.responses`, `web.tavily`, `web.brave`."""
    began: float
    model: str = ""
    stream: bool = False
    status: int | None = None
    outcome: str = "running"
    """`running`, `complete`, `refused` (an error status), `disconnected` (the caller left), `faulted` (broken on
    purpose)."""
    first_token: float | None = None
    ended: float | None = None
    input_tokens: int = 0
    """All of them: read from the cache, written to it, and the rest."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    billed_input: float = 0.0
    """What the input costs, in ordinary input tokens: reading from the cache costs less, writing to it more."""
    output_tokens: int = 0
    """Generated, and billed, so far."""
    simulated: tuple[str, ...] = ()
    """The faults that applied."""
    new_connection: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    """As received, names in lower case; keys are masked."""
    body: Any = None
    """What was asked, parsed; kept for the latest requests only."""

    def as_json(self) -> dict[str, Any]:
        """Everything but the body."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "body"}


class Journal:
    """The latest requests in the order they came, and how many there were by endpoint and outcome."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self._number = 0
        self._bodies: deque[Entry] = deque()
        self._changed = asyncio.Event()
        self.entries: deque[Entry] = deque(maxlen=KEPT_ENTRIES)
        self.outcomes: Counter[str] = Counter()

    def now(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def open(self, endpoint: str, *, headers: Mapping[str, str], new_connection: bool) -> Entry:
        """Begin an entry."""
        self._number += 1
        entry = Entry(
            number=self._number, endpoint=endpoint, began=self.now(), headers=headers, new_connection=new_connection
        )
        self.entries.append(entry)
        self._tell()
        return entry

    def keep_body(self, entry: Entry, body: Any) -> None:
        """Remember what was asked, and forget the oldest body beyond the bound."""
        entry.body = body
        self._bodies.append(entry)
        if len(self._bodies) > KEPT_BODIES:
            self._bodies.popleft().body = None

    def first_token(self, entry: Entry) -> None:
        """The response has begun."""
        entry.first_token = self.now()
        self._tell()

    def close(self, entry: Entry, outcome: str) -> None:
        """End an entry; the first outcome stays."""
        if entry.ended is None:
            entry.ended = self.now()
            entry.outcome = outcome if entry.outcome == "running" else entry.outcome
            self.outcomes[f"{entry.endpoint} {entry.outcome}"] += 1
            self._tell()

    def reset(self) -> None:
        """Forget what is finished; what is running stays."""
        running = [entry for entry in self.entries if entry.ended is None]
        self.entries.clear()
        self.entries.extend(running)
        self.outcomes.clear()

    async def until(self, holds: Callable[[], bool], *, within: float = 5.0) -> None:
        """Wait until something became true of the journal; `TimeoutError` when it does not within so many
        seconds."""
        async with asyncio.timeout(within):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
