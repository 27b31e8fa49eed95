"""One call to one model, read item by item.

Decides nothing about rungs: it asks, cuts items out of what comes, judges them and hands them on at once, and stops
at an item's border when the next one would not fit. Whatever happens, it ends with an account of the attempt; only
cancellation passes through, and closes the connection on its way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from headway.deadline import Clock
from headway.ledger import Attempt, Usage
from headway.records import Draft
from services.generator import policy
from services.generator.drafts import Intake
from services.generator.item_stream import ItemStream
from services.generator.policy import Rung
from services.generator.repair import Repair
from services.generator.upstream import Call, Failure, Provider, Started, Stop, UpstreamError
from services.generator.watch import ContentWatch

TAIL_SECONDS = 0.15
"""How long the end of an answer, which holds the usage, is waited for after its last item."""
BYTES_PER_TOKEN = 4
"""For an estimate of what a call cost whose usage never came; too low rather than too high for scripts of three
bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long an attempt waits: for first content, between pieces (seconds), and at all (an instant of the
    clock)."""

    first_within: float
    silence: float
    instant: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an attempt went. ``error`` is None when it ended well or was ended by us; ``stopped`` when time was the
    reason; ``repaired`` items were broken as JSON; ``usage_told``: the usage is the provider's own and no estimate."""

    attempt: Attempt
    items: int
    dropped: int
    repaired: int = 0
    usage_told: bool = False
    stop: Stop | None = None
    stopped: bool = False
    error: UpstreamError | None = None


class Reading:
    """The state of one attempt while it is read."""

    def __init__(
        self,
        *,
        call: Call,
        rung: Rung,
        intake: Intake,
        fields: Collection[str],
        repair: Repair,
        wanted: int,
        item_tokens: float,
        emit: Callable[[Draft], Awaitable[None]],
        clock: Clock,
    ) -> None:
        self._call = call
        self._rung = rung
        self._intake = intake
        self._wanted = wanted
        self._item_tokens = item_tokens
        self._emit = emit
        self._clock = clock
        self._items = 0
        self._parser = ItemStream(fields=fields, repair=repair)
        self._began = clock()
        self._first: float | None = None
        self._last_item = 0.0
        self._bytes = 0
        self._usage: Usage | None = None
        self._told: Usage | None = None
        self._stop: Stop | None = None
        self._stopped = False

    async def run(self, provider: Provider, limits: Limits) -> Result:
        """Reads the whole attempt."""
        error: UpstreamError | None = None
        watch = ContentWatch(
            first_within=limits.first_within, silence=limits.silence, limit=limits.instant, clock=self._clock
        )
        dropped_before = self._intake.dropped.total()
        try:
            async with watch:
                await self._read(provider, watch, limits.instant)
        except TimeoutError:
            error = self._timed_out(limits.instant)
        except UpstreamError as fault:
            error = fault
        self._parser.close()
        if error is not None and self._items >= self._wanted:
            error = None  # all that was wanted is out; what broke was the end of the stream
        if error is None and self._stop is Stop.REFUSAL:
            error = UpstreamError(Failure.REFUSED, "the model declined to answer")
        dropped = self._intake.dropped.total() - dropped_before + self._parser.malformed + self._parser.truncated
        if error is None and not self._items and not self._stopped:
            error = UpstreamError(Failure.NO_ITEMS, f"no usable item in the answer, {dropped} dropped")
        return Result(
            attempt=self._account(error),
            items=self._items,
            dropped=dropped,
            repaired=self._parser.repaired,
            usage_told=self._usage is not None or self._told is not None,
            stop=self._stop,
            stopped=self._stopped,
            error=error,
        )

    async def _read(self, provider: Provider, watch: ContentWatch, limit: float) -> None:
        async with aclosing(provider.stream(self._call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    watch.content()
                    if not await self._take(piece, watch, limit):
                        return
                elif isinstance(piece, Started):
                    self._told = piece.usage
                else:
                    self._stop, self._usage = piece.stop, piece.usage
                    if self._items < self._wanted:
                        await self._take_items(self._parser.close(), watch, limit)

    async def _take(self, text: str, watch: ContentWatch, limit: float) -> bool:
        """Takes a piece of text; false when no more of the answer is wanted."""
        if self._first is None:
            self._first = self._last_item = self._clock()
        self._bytes += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self._items >= self._wanted:
            return True  # only the end, with the usage, is still awaited
        return await self._take_items(self._parser.feed(text), watch, limit)

    async def _take_items(self, found: Iterable[Mapping[str, Any]], watch: ContentWatch, limit: float) -> bool:
        """Hands on what can be used; false when no more of the answer is wanted."""
        for raw in found:
            draft = self._intake.accept(raw)
            if draft is None or self._items >= self._wanted:
                continue
            self._items += 1
            watch.pause()
            await self._emit(draft)
            watch.resume()
            self._last_item = self._clock()
            if self._items >= self._wanted:
                watch.narrow(TAIL_SECONDS)
                return True
            if not self._fits(limit):
                self._stopped = True
                return False
        return True

    def _fits(self, limit: float) -> bool:
        now = self._clock()
        assert self._first is not None
        return policy.next_item_fits(
            self._rung,
            time_left=limit - now,
            item_tokens=self._item_tokens,
            items=self._items,
            writing_for=now - self._first,
            begun=now - self._last_item,
        )

    def _timed_out(self, limit: float) -> UpstreamError | None:
        if self._clock() >= limit:
            self._stopped = True
            return None if self._items else UpstreamError(Failure.TIMEOUT, "the time was up before a first item")
        if self._first is None:
            return UpstreamError(Failure.TIMEOUT, "no first token in time")
        return UpstreamError(Failure.STALLED, "the stream had begun and then fell silent")

    def _account(self, error: UpstreamError | None) -> Attempt:
        well = "stopped" if self._stopped else "ok"
        return Attempt(
            backend=self._rung.backend,
            model=self._rung.model,
            outcome=well if error is None else error.failure.value,
            spent=self._clock() - self._began,
            ttft=None if self._first is None else self._first - self._began,
            usage=self._spent_tokens(),
        )

    def _spent_tokens(self) -> Usage:
        """What the provider said; estimated where it was cut off before it could."""
        if self._usage is not None:
            return self._usage
        told = self._told
        if told is None and self._first is None:
            return Usage()
        if told is None:
            told = Usage(input_tokens=len((self._call.prefix + self._call.message).encode()) // BYTES_PER_TOKEN)
        return replace(told, output_tokens=max(told.output_tokens, self._bytes // BYTES_PER_TOKEN))
