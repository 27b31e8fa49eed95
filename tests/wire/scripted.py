"""Scripted neighbours of the orchestrator: real gRPC services on loopback that do what a test says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway import floor
from headway.domain import load
from headway.server import Hosted, SharedConfig, always_ready
from headway.testing import channel, hosting, plain_channel
from headway.v1 import (
    explain_pb2_grpc,
    generator_pb2,
    generator_pb2_grpc,
    item_pb2,
    recommendation_pb2,
    recommendation_pb2_grpc,
    retrieval_pb2,
    retrieval_pb2_grpc,
    router_pb2,
    router_pb2_grpc,
)
from services.orchestrator.answer import Parts
from services.orchestrator.explain import ExplainService, Recent
from services.orchestrator.floor_items import FloorWriter
from services.orchestrator.neighbours import Neighbours
from services.orchestrator.policy import Priors
from services.orchestrator.service import RecommendationService

TRAVEL = Path(__file__).resolve().parents[2] / "domains" / "travel"
SECTIONS = ("lodging", "food", "sights")
Handler = Callable[[Any, Any], Awaitable[Any]]
Event = recommendation_pb2.RecommendResponse


def record(section: str, number: int, origin: int = 1) -> retrieval_pb2.Record:
    """A record that validates; ``origin`` 2 is the web."""
    return retrieval_pb2.Record(
        record_id=f"{section or 'web'}-{number}",
        section=section,
        name=f"{section or 'web'} {number}",
        description="somewhere",
        origin=origin,  # type: ignore[arg-type]
    )


def internal(per_section: int = 9, sections: Sequence[str] = SECTIONS) -> retrieval_pb2.RetrieveResponse:
    """A batch of internal records."""
    records = [record(section, number) for section in sections for number in range(per_section)]
    return retrieval_pb2.RetrieveResponse(
        records=retrieval_pb2.RecordBatch(origin=retrieval_pb2.ORIGIN_INTERNAL, records=records)
    )


def web(count: int = 3, section: str = "") -> retrieval_pb2.RetrieveResponse:
    """A batch of web records."""
    records = [record(section, 100 + number, origin=2) for number in range(count)]
    return retrieval_pb2.RetrieveResponse(
        records=retrieval_pb2.RecordBatch(origin=retrieval_pb2.ORIGIN_WEB, records=records)
    )


def retrieval_plan(web_rung: str = "none") -> retrieval_pb2.RetrieveResponse:
    return retrieval_pb2.RetrieveResponse(plan=retrieval_pb2.RetrievePlan(internal_rung="hybrid", web_rung=web_rung))


async def routes_to_korean_travel(_request: Any, _context: Any) -> router_pb2.RouteResponse:
    return router_pb2.RouteResponse(language="ko", intent="travel_recommendation", confidence=0.9)


async def finds_internal(_request: Any, context: Any) -> None:
    await context.write(retrieval_plan())
    await context.write(internal())
    await context.write(retrieval_pb2.RetrieveResponse(summary=retrieval_pb2.RetrieveSummary()))


def item(request: generator_pb2.GenerateRequest, number: int) -> generator_pb2.GenerateResponse:
    """The item about the request's record of that number."""
    left = [each for each in request.records if each.record_id not in request.excluded_record_ids]
    return generator_pb2.GenerateResponse(
        item=item_pb2.Item(
            section=request.section,
            rank=request.first_rank + number,
            title=left[number].name,
            sources=[left[number].record_id],
            tier=item_pb2.TIER_SMALL,
        )
    )


def generator_plan() -> generator_pb2.GenerateResponse:
    return generator_pb2.GenerateResponse(plan=generator_pb2.GeneratePlan(rung="small", tier=item_pb2.TIER_SMALL))


def generator_summary(finish: int = 2) -> generator_pb2.GenerateResponse:
    summary = generator_pb2.GenerateSummary(finish_reason=finish)  # type: ignore[arg-type]
    summary.ttft.FromMilliseconds(2)
    return generator_pb2.GenerateResponse(summary=summary)


async def writes_all(request: generator_pb2.GenerateRequest, context: Any) -> None:
    await context.write(generator_plan())
    for number in range(request.count):
        await context.write(item(request, number))
    await context.write(generator_summary())


@dataclass(slots=True, kw_only=True)
class Script:
    """What each neighbour does, and what it was asked."""

    route: Handler = routes_to_korean_travel
    retrieve: Handler = finds_internal
    generate: Handler = writes_all
    asked: list[Any] = field(default_factory=list)


class _Router(router_pb2_grpc.RouterServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Route(self, request: Any, context: Any) -> Any:
        self.script.asked.append(request)
        return await self.script.route(request, context)


class _Retrieval(retrieval_pb2_grpc.RetrievalServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Retrieve(self, request: Any, context: Any) -> None:
        self.script.asked.append(request)
        await self.script.retrieve(request, context)


class _Generator(generator_pb2_grpc.GeneratorServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Generate(self, request: Any, context: Any) -> None:
        self.script.asked.append(request)
        await self.script.generate(request, context)


PRIORS = Priors(
    router_cap=0.3,
    router_floor=0.008,
    retrieval_cap=1.0,
    retrieval_floor=0.02,
    web_cap=2.0,
    web_generation=0.5,
    generator_floor=0.015,
)


@asynccontextmanager
async def orchestrator(script: Script, *, shared: SharedConfig | None = None, keep: int = 0) -> AsyncIterator[str]:
    """A real orchestrator between scripted neighbours, which keeps accounts of so many requests; yields its address."""
    neighbours = (
        (f"{_PACKAGE}RouterService", router_pb2_grpc.add_RouterServiceServicer_to_server, _Router(script)),
        (f"{_PACKAGE}RetrievalService", retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server, _Retrieval(script)),
        (f"{_PACKAGE}GeneratorService", generator_pb2_grpc.add_GeneratorServiceServicer_to_server, _Generator(script)),
    )
    async with AsyncExitStack() as lifetimes:
        channels = []
        for name, add, servicer in neighbours:
            hosted = Hosted(
                name=name, register=lambda server, add=add, it=servicer: add(it, server), check=always_ready
            )
            target = await lifetimes.enter_async_context(hosting(hosted, shared=shared))
            channels.append(await lifetimes.enter_async_context(channel(target, name)))
        parts = Parts(
            domain=load(TRAVEL),
            neighbours=Neighbours(*channels),
            priors=PRIORS,
            records_per_item=3,
            items_per_piece=4,
            floor=FloorWriter(floor.load(TRAVEL / floor.PHRASES_FILE)),
        )
        recent = Recent(keep)
        service = RecommendationService(parts, recent)
        explain = ExplainService(recent, clock=time.monotonic)
        hosted = Hosted(
            name=f"{_PACKAGE}RecommendationService",
            register=lambda server: recommendation_pb2_grpc.add_RecommendationServiceServicer_to_server(
                service, server
            ),
            check=always_ready,
        )
        explaining = Hosted(
            name=f"{_PACKAGE}ExplainService",
            register=lambda server: explain_pb2_grpc.add_ExplainServiceServicer_to_server(explain, server),
            check=always_ready,
        )
        services = [hosted, explaining] if keep else [hosted]
        yield await lifetimes.enter_async_context(hosting(*services, shared=shared))


_PACKAGE = "headway.v1."


async def ask(target: str, *, timeout: float | None = 5.0, **request: Any) -> list[Event]:
    """All events of one answer."""
    request.setdefault("query", "제주도 3박4일 가족여행")
    async with plain_channel(target) as open_channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(open_channel)
        call = stub.Recommend(recommendation_pb2.RecommendRequest(**request), timeout=timeout)
        return [event async for event in call]


def kinds(events: Sequence[Event]) -> list[str]:
    """The kinds of the events, in order."""
    return [str(event.WhichOneof("event")) for event in events]


def items(events: Sequence[Event]) -> list[item_pb2.Item]:
    return [event.item for event in events if event.WhichOneof("event") == "item"]


def notices(events: Sequence[Event]) -> list[Any]:
    return [event.notice for event in events if event.WhichOneof("event") == "notice"]


async def forever(*_: Any) -> None:
    """Never answers; ends only by cancellation."""
    await asyncio.Event().wait()
