"""The three services that the orchestrator calls, as values; the client edge of the wire.

Records and items pass through as the messages they came as, because the orchestrator neither reads nor changes their
text. Every call has a timeout from the deadline. Decides nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import grpc

from headway.errors import Reason, reason_of
from headway.ledger import Degradation, Degraded, Finish, Stage, Usage
from headway.messages import (
    duration,
    seconds,
    slot_from_message,
    slot_to_message,
    stage_from_message,
    usage_from_message,
)
from headway.slots import Slot
from headway.v1 import (
    generator_pb2,
    generator_pb2_grpc,
    item_pb2,
    ledger_pb2,
    retrieval_pb2,
    retrieval_pb2_grpc,
    router_pb2,
    router_pb2_grpc,
)

Record = retrieval_pb2.Record
Item = item_pb2.Item


class NeighbourFailed(Exception):  # noqa: N818 - named for what has happened
    """A call to a neighbour ended without a usable answer. ``timed_out`` tells a used-up timeout from a failure."""

    def __init__(self, stage: str, detail: str, *, timed_out: bool, reason: str) -> None:
        super().__init__(detail)
        self.stage = stage
        self.detail = detail
        self.timed_out = timed_out
        self.reason = reason

    def degraded(self) -> Degraded:
        """The failure as a notice."""
        reason = Degradation.OUT_OF_TIME if self.timed_out else Degradation.UPSTREAM_UNAVAILABLE
        return Degraded(stage=self.stage, reason=reason, detail=self.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """What the router says of a query."""

    language: str
    intent: str
    confidence: float
    slots: tuple[Slot, ...] = ()
    complexity: int = 0
    embedding: bytes = b""
    embedding_model: str = ""
    unsupported_language: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Records of one origin, best first."""

    web: bool
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPlan:
    """The rungs that retrieval starts on."""

    internal_rung: str
    web_rung: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """The end of retrieval."""

    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationPlan:
    """The rung that the generator starts on."""

    rung: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """The end of one generator stream; ``ttft`` counts from the start of the call."""

    finish: Finish
    ttft: float | None
    usage: Usage
    stages: tuple[Stage, ...]


RetrievalEvent = RetrievalPlan | Found | Degraded | Retrieved
GenerationEvent = GenerationPlan | Item | Degraded | Generated


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalWish:
    """What to look for; ``web_within`` 0 leaves the web out."""

    query: str
    language: str
    routed: Routed
    sections: tuple[str, ...]
    per_section: int
    web_within: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationWish:
    """What to write."""

    query: str
    language: str
    section: str
    count: int
    first_rank: int
    slots: tuple[Slot, ...]
    complexity: int
    records: tuple[Record, ...]
    excluded: tuple[str, ...] = ()


class Neighbours:
    """Calls over channels that live as long as the process."""

    def __init__(self, router: grpc.aio.Channel, retrieval: grpc.aio.Channel, generator: grpc.aio.Channel) -> None:
        self._router = router_pb2_grpc.RouterServiceStub(router)
        self._retrieval = retrieval_pb2_grpc.RetrievalServiceStub(retrieval)
        self._generator = generator_pb2_grpc.GeneratorServiceStub(generator)

    async def route(self, query: str, locale: str, *, timeout: float) -> Routed:
        """Raises NeighbourFailed."""
        try:
            answer = await self._router.Route(router_pb2.RouteRequest(query=query, locale=locale), timeout=timeout)
        except grpc.aio.AioRpcError as error:
            raise _failed("router", error) from error
        return Routed(
            language=answer.language,
            intent=answer.intent,
            confidence=answer.confidence,
            slots=tuple(slot_from_message(slot) for slot in answer.slots),
            complexity=answer.complexity,
            embedding=answer.embedding,
            embedding_model=answer.embedding_model,
            unsupported_language=answer.unsupported_language,
        )

    async def retrieve(self, wish: RetrievalWish, *, timeout: float) -> AsyncGenerator[RetrievalEvent, None]:
        """Events in order; leaving the loop early cancels the call. Raises NeighbourFailed."""
        request = retrieval_pb2.RetrieveRequest(
            query=wish.query,
            language=wish.language,
            intent=wish.routed.intent,
            slots=[slot_to_message(slot) for slot in wish.routed.slots],
            sections=wish.sections,
            per_section=wish.per_section,
            embedding=wish.routed.embedding,
            embedding_model=wish.routed.embedding_model,
            internal_only=wish.web_within <= 0,
            web_within=duration(wish.web_within) if wish.web_within > 0 else None,
        )
        call = self._retrieval.Retrieve(request, timeout=timeout)
        async with aclosing(_messages("retrieval", call)) as messages:
            async for message in messages:
                kind = message.WhichOneof("event")
                if kind == "records":
                    web = message.records.origin == retrieval_pb2.ORIGIN_WEB
                    yield Found(web=web, records=tuple(message.records.records))
                elif kind == "plan":
                    plan = message.plan
                    yield RetrievalPlan(internal_rung=plan.internal_rung, web_rung=plan.web_rung, reason=plan.reason)
                elif kind == "notice":
                    yield _degraded(message.notice)
                elif kind == "summary":
                    yield Retrieved(stages=tuple(stage_from_message(each) for each in message.summary.stages))

    async def generate(self, wish: GenerationWish, *, timeout: float) -> AsyncGenerator[GenerationEvent, None]:
        """Events in order; leaving the loop early cancels the call. Raises NeighbourFailed."""
        request = generator_pb2.GenerateRequest(
            query=wish.query,
            language=wish.language,
            section=wish.section,
            count=wish.count,
            slots=[slot_to_message(slot) for slot in wish.slots],
            records=wish.records,
            excluded_record_ids=wish.excluded,
            complexity=wish.complexity,  # type: ignore[arg-type]  # a number of the same enum
            first_rank=wish.first_rank,
        )
        stage = f"generator.{wish.section}"
        call = self._generator.Generate(request, timeout=timeout)
        async with aclosing(_messages(stage, call)) as messages:
            async for message in messages:
                kind = message.WhichOneof("event")
                if kind == "item":
                    yield message.item
                elif kind == "plan":
                    yield GenerationPlan(rung=message.plan.rung, reason=message.plan.reason)
                elif kind == "notice":
                    yield _degraded(message.notice)
                elif kind == "summary":
                    yield _generated(message.summary)


async def _messages(stage: str, call: Any) -> AsyncGenerator[Any, None]:
    """The messages of a streaming call, which is cancelled when the loop is left in any way before its end."""
    try:
        async for message in call:
            yield message
    except grpc.aio.AioRpcError as error:
        raise _failed(stage, error) from error
    finally:
        call.cancel()


def _failed(stage: str, error: grpc.aio.AioRpcError) -> NeighbourFailed:
    timed_out = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    reason = reason_of(error)
    if timed_out:
        detail = f"{stage} used up its time"
    elif reason in {Reason.NOT_READY.value, Reason.OVERLOADED.value, Reason.NOTHING_FOUND.value}:
        detail = f"{stage}: {error.details()}"
    else:
        detail = f"{stage} failed ({error.code().name})"
    return NeighbourFailed(stage, detail, timed_out=timed_out, reason=reason)


def _degraded(notice: ledger_pb2.Notice) -> Degraded:
    number: int = notice.reason
    known = Degradation(number) if number in list(Degradation) else Degradation.UNSPECIFIED
    return Degraded(stage=notice.stage, reason=known, detail=notice.detail)


def _generated(summary: generator_pb2.GenerateSummary) -> Generated:
    number: int = summary.finish_reason
    return Generated(
        finish=Finish(number) if number in list(Finish) else Finish.COMPLETE,
        ttft=seconds(summary.ttft) if summary.HasField("ttft") else None,
        usage=usage_from_message(summary.usage),
        stages=tuple(stage_from_message(each) for each in summary.stages),
    )
