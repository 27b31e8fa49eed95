"""One piece of an answer: some items of one section, asked of the generator in one stream.

Decides when a stream that broke off is asked for the rest and which records a piece may still use. After the first item
nothing is asked again: what is out stays out, and only what is missing is asked for, with the given ids excluded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from headway.ledger import Degraded, Finish, Stage
from headway.request import RequestScope, within
from headway.slots import Slot
from services.orchestrator import policy
from services.orchestrator.account import Account, PlannedStage
from services.orchestrator.neighbours import (
    Generated,
    GenerationPlan,
    GenerationWish,
    Item,
    NeighbourFailed,
    Neighbours,
    Record,
)

FIRST_TOKEN = 0.3
"""Seconds that a first token takes at best; less time than that is not worth a second call."""


@dataclass(slots=True, kw_only=True)
class Piece:
    """What is to be written and how far it got: one item for each of ``ranks``, in that order."""

    section: str
    ranks: tuple[int, ...]
    records: tuple[Record, ...]
    written: int = 0
    given: list[str] = field(default_factory=list)
    ended: Finish | None = None
    rung: str = ""

    def missing(self) -> int:
        """Items still to be written."""
        return len(self.ranks) - self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What every piece of one answer shares."""

    query: str
    language: str
    slots: tuple[Slot, ...]
    complexity: int
    scope: RequestScope
    priors: policy.Priors
    neighbours: Neighbours
    account: Account
    send_item: Callable[[Item], Awaitable[None]]
    send_notice: Callable[[Degraded], Awaitable[None]]
    send_own_notice: Callable[[Degraded], Awaitable[None]]
    plan_known: Callable[[PlannedStage], Awaitable[None]]


async def write(piece: Piece, writing: Writing) -> None:
    """Asks for the piece, once more for the rest when the stream breaks off in time; never raises NeighbourFailed."""
    await _streams(piece, writing)
    if piece.ended is not None:
        writing.account.endings.append(piece.ended)


async def _streams(piece: Piece, writing: Writing) -> None:
    for _ in range(2):
        try:
            await _one_stream(piece, writing)
            return
        except NeighbourFailed as failure:
            piece.ended = Finish.DEADLINE if failure.timed_out else Finish.UPSTREAM_EXHAUSTED
            await writing.send_own_notice(failure.degraded())
            scope = writing.scope
            again = policy.worth_asking_again(
                remaining=scope.deadline.remaining(), reserve=scope.reserve(), first_token=FIRST_TOKEN
            )
            if failure.timed_out or not piece.missing() or not again:
                return


async def _one_stream(piece: Piece, writing: Writing) -> None:
    scope, account = writing.scope, writing.account
    started = scope.spent()
    allowance = policy.generation_allowance(
        writing.priors, remaining=scope.deadline.remaining(), reserve=scope.reserve()
    )
    if allowance <= 0:
        piece.ended = Finish.DEADLINE
        return
    finished = False
    try:
        with within(f"generator.{piece.section}", {"headway.allowance": allowance}):
            async with aclosing(writing.neighbours.generate(_wish(piece, writing), timeout=allowance)) as events:
                async for event in events:
                    if isinstance(event, Item):
                        await _item(piece, writing, event)
                    elif isinstance(event, GenerationPlan):
                        piece.rung = event.rung
                        name = f"generator.{piece.section}"
                        await writing.plan_known(PlannedStage(stage=name, rung=event.rung, reason=event.reason))
                    elif isinstance(event, Degraded):
                        await writing.send_notice(event)
                    elif isinstance(event, Generated):
                        finished = True
                        _ended(piece, account, event, started)
    finally:
        if not finished:
            account.add_own(
                Stage(
                    name=f"generator.{piece.section}",
                    allowance=allowance,
                    spent=scope.spent() - started,
                    rung=piece.rung,
                    reason="ended before its summary",
                    started_after=started,
                )
            )


async def _item(piece: Piece, writing: Writing, item: Item) -> None:
    if writing.account.used_sources.intersection(item.sources[:1]):
        return  # another piece of this answer has written about it already
    if not piece.missing():
        return  # more than was asked for
    item.rank = piece.ranks[piece.written]
    piece.written += 1
    piece.given.extend(item.sources)
    await writing.send_item(item)


def _ended(piece: Piece, account: Account, event: Generated, started: float) -> None:
    piece.ended = event.finish
    account.add_stages(event.stages, offset=started)
    if event.ttft is not None:
        account.saw_token(started + event.ttft)


def _wish(piece: Piece, writing: Writing) -> GenerationWish:
    return GenerationWish(
        query=writing.query,
        language=writing.language,
        section=piece.section,
        count=piece.missing(),
        first_rank=piece.ranks[piece.written],
        slots=writing.slots,
        complexity=writing.complexity,
        records=piece.records,
        excluded=tuple(piece.given),
    )
