"""RetrievalService: requests to values, values to the stream.

Decides the order of the stream: a plan, the internal records as soon as they are there, web records if they come in
time, notices where something was given up, a summary. What is decided about time is decided by the policy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headway.catalogue.plaintext import plain
from headway.domain import Domain
from headway.errors import HeadwayError
from headway.ledger import Attempt, Degradation, Degraded, Stage
from headway.request import RequestScope, current
from headway.telemetry import Telemetry
from headway.v1 import retrieval_pb2, retrieval_pb2_grpc
from services.retrieval import incoming, notices, outgoing
from services.retrieval.policy import Plan, Rung, Situation, WebChoice, planned
from services.retrieval.search import Found, Wish
from services.retrieval.wanted import wanted_from
from services.retrieval.web.results import SectionWords, WebResult
from services.retrieval.web.search import WebSearch, WebSearchError

INTERNAL, WEB = notices.STAGE, "retrieval.web"
Send = Callable[[retrieval_pb2.RetrieveResponse], Awaitable[Any]]


class Embedder(Protocol):
    """Embeds one text without holding the event loop."""

    async def embed(self, text: str) -> NDArray[np.float32]: ...

    def queued(self) -> int: ...


class Catalogue(Protocol):
    """Searches the catalogue without holding the event loop for long."""

    async def search(self, wish: Wish, rung: Rung) -> Found: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a retrieval works with; ``web`` None: no web search. Spans are seconds."""

    domain: Domain
    catalogue: Catalogue
    model: str
    dimensions: int
    embedder: Embedder | None
    web: WebSearch | None
    words: SectionWords
    per_section: int
    web_cap: float
    web_floor: float
    web_results: int


class RetrievalService(retrieval_pb2_grpc.RetrievalServiceServicer):
    """The servicer; every request is a ``_Retrieval`` of its own."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._messages = outgoing.RecordMessages(parts.domain)

    def watch(self, telemetry: Telemetry) -> None:
        """Shows how many queries wait for the encoder."""
        if self._parts.embedder is not None:
            telemetry.metrics.watch_queue("encoder", self._parts.embedder.queued)

    async def Retrieve(  # type: ignore[override]  # the stubs know generators only; see the wire contract
        self, request: retrieval_pb2.RetrieveRequest, context: Any
    ) -> None:
        await _Retrieval(self._parts, self._messages, request, current(), context.write).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _WebOutcome:
    """What came of the web search: results, or why there are none."""

    stage: Stage
    results: tuple[WebResult, ...] = ()
    degraded: Degraded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Internal:
    stage: Stage
    found: Found
    degraded: tuple[Degraded, ...] = ()


class _Retrieval:
    """One request from plan to summary."""

    def __init__(
        self,
        parts: Parts,
        messages: outgoing.RecordMessages,
        request: retrieval_pb2.RetrieveRequest,
        scope: RequestScope,
        send: Send,
    ) -> None:
        self._parts = parts
        self._messages = messages
        self._request = request
        self._scope = scope
        self._send = send
        self._sections = incoming.sections(request, parts.domain)
        self._language = incoming.language(request)
        self._embedding = incoming.embedding(request, parts.model, parts.dimensions)

    async def run(self) -> None:
        plan = planned(self._situation())
        adapter = self._parts.web.name if self._parts.web else "none"
        async with asyncio.TaskGroup() as tasks:
            web = tasks.create_task(self._web(plan), name=WEB) if plan.web is WebChoice.ASKED else None
            await self._send(outgoing.plan_event(plan, adapter))
            internal = await self._internal(plan)
            await self._send(outgoing.internal_event(internal.found.hits, self._messages, self._language))
            for degraded in (*internal.degraded, *_web_left_out(plan)):
                await self._notice(degraded)
            outcome = await web if web else None
        stages = [internal.stage]
        pages = 0
        if outcome is not None:
            stages.append(outcome.stage)
            if outcome.degraded:
                await self._notice(outcome.degraded)
            event = outgoing.web_event(outcome.results, self._parts.words, self._sections, self._request.query)
            pages = len(event.records.records)
            if pages:
                await self._send(event)
        hits = len(internal.found.hits)
        self._scope.record(stages)
        await self._send(outgoing.summary_event(hits, pages, internal.found.given_up, stages))

    async def _notice(self, degraded: Degraded) -> None:
        self._scope.record_degraded(degraded)
        await self._send(outgoing.notice_event(degraded))

    def _situation(self) -> Situation:
        parts, scope = self._parts, self._scope
        return Situation(
            remaining=scope.deadline.remaining(),
            reserve=scope.reserve(),
            embedding_at_hand=self._embedding is not None,
            encoder_at_hand=parts.embedder is not None,
            web_adapter=parts.web.name if parts.web else "none",
            internal_only=self._request.internal_only,
            web_within=incoming.web_within(self._request),
            web_cap=parts.web_cap,
            web_floor=parts.web_floor,
        )

    def _left(self) -> float:
        """Seconds until the reserve is touched."""
        return max(0.0, self._scope.deadline.remaining() - self._scope.reserve())

    async def _internal(self, plan: Plan) -> _Internal:
        started = self._scope.spent()
        degraded: list[Degraded] = []
        rung, reason = plan.rung, plan.reason
        found = Found(hits=(), short={}, nearby={})
        try:
            async with asyncio.timeout(self._left()):
                embedding, failure = await self._query_embedding(rung)
                if failure:
                    rung, reason = Rung.LEXICAL, failure
                    degraded.append(Degraded(stage=INTERNAL, reason=Degradation.UPSTREAM_UNAVAILABLE, detail=failure))
                found = await self._parts.catalogue.search(self._wish(embedding), rung)
                degraded += notices.said_of(found, self._parts.domain)
        except TimeoutError:
            reason = "no time was left to search the catalogue"
            degraded.append(Degraded(stage=INTERNAL, reason=Degradation.OUT_OF_TIME, detail=reason))
        spent = self._scope.spent() - started
        stage = Stage(name=INTERNAL, spent=spent, rung=rung.value, reason=reason, started_after=started)
        return _Internal(stage=stage, found=found, degraded=tuple(degraded))

    async def _query_embedding(self, rung: Rung) -> tuple[NDArray[np.float32] | None, str]:
        """The embedding of the query where the rung needs one, and why there is none although it does."""
        if rung is Rung.LEXICAL or self._embedding is not None or self._parts.embedder is None:
            return self._embedding, ""
        try:
            return await self._parts.embedder.embed(self._request.query), ""
        except HeadwayError as fault:
            return None, f"the query could not be embedded: {fault.message}"

    def _wish(self, embedding: NDArray[np.float32] | None) -> Wish:
        slots = incoming.slots(self._request)
        return Wish(
            query=self._request.query,
            wanted=wanted_from(slots, self._parts.domain.tags, intent=self._request.intent),
            sections=self._sections,
            per_section=self._request.per_section or self._parts.per_section,
            embedding=embedding,
        )

    async def _web(self, plan: Plan) -> _WebOutcome:
        """Never raises but when it is cancelled: a search that fails or is late is an outcome."""
        assert self._parts.web is not None, "the policy asks no web that is not there"
        adapter = self._parts.web
        started = self._scope.spent()
        span = min(plan.web_allowance, self._left())
        results: tuple[WebResult, ...] = ()
        degraded: Degraded | None = None
        outcome = "ok"
        try:
            async with asyncio.timeout(span):
                query = plain(self._request.query, 400)
                results = tuple(await adapter.search(query, count=self._parts.web_results, timeout=span))
        except TimeoutError:
            outcome = "timeout"
            detail = f"{adapter.name} did not answer within {span * 1000:.0f} ms"
            degraded = Degraded(stage=WEB, reason=Degradation.OUT_OF_TIME, detail=detail)
        except WebSearchError as fault:
            outcome = fault.outcome
            degraded = Degraded(stage=WEB, reason=fault.degradation, detail=str(fault))
        spent = self._scope.spent() - started
        stage = Stage(
            name=WEB,
            allowance=plan.web_allowance,
            spent=spent,
            rung=adapter.name,
            reason=degraded.detail if degraded else f"{len(results)} results",
            attempts=(Attempt(backend=adapter.name, outcome=outcome, spent=spent),),
            started_after=started,
        )
        return _WebOutcome(stage=stage, results=results, degraded=degraded)


def _web_left_out(plan: Plan) -> Iterator[Degraded]:
    """Only for want of time is leaving the web out a degradation; otherwise it was somebody's wish."""
    if plan.web is WebChoice.NO_TIME:
        yield Degraded(stage=WEB, reason=Degradation.OUT_OF_TIME, detail="no time for a web search")
