"""The router as a gRPC service: messages to values and back."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import grpc

from headway.domain import Domain
from headway.embedding import BatchedEncoder, OnnxEncoder, Vectors, pack
from headway.errors import HeadwayError, Reason
from headway.messages import slot_to_message
from headway.request import current, current_or_none
from headway.slots import Slot
from headway.telemetry import Telemetry
from headway.v1 import router_pb2, router_pb2_grpc
from services.router import policy
from services.router.found import clean
from services.router.intents import IntentIndex, pair
from services.router.language import UNKNOWN, LanguageFinder
from services.router.laps import Laps
from services.router.slots import SlotFinder


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What the router knows of a domain, built once at start; takes about two seconds and some 250 MB."""

    domain: Domain
    slots: SlotFinder
    languages: LanguageFinder
    intents: IntentIndex
    rules: policy.Rules
    model_languages: frozenset[str]


def learn(domain: Domain, encoder: OnnxEncoder, *, rules: policy.Rules | None = None) -> Knowledge:
    """Builds all that the router knows of ``domain``. Blocks; raises DomainError."""
    slots = SlotFinder(domain)
    english = [line for intent in domain.intents for line in intent.examples.get("en", ())]
    return Knowledge(
        domain=domain,
        slots=slots,
        languages=LanguageFinder(english),
        intents=IntentIndex(domain, encoder, lambda line: slots.find(clean(line)).bare),
        rules=rules or policy.Rules(),
        model_languages=encoder.languages,
    )


class RouterService(router_pb2_grpc.RouterServiceServicer):
    """``headway.v1.RouterService``."""

    def __init__(self, knowledge: Knowledge, encoder: BatchedEncoder) -> None:
        self._knowledge = knowledge
        self._encoder = encoder
        self._trip_intents = {intent.name: intent.sections for intent in knowledge.domain.intents if intent.recommends}
        self._names = tuple(intent.name for intent in knowledge.domain.intents)

    async def Route(
        self, request: router_pb2.RouteRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> router_pb2.RouteResponse:
        scope = current()
        laps = Laps(scope.clock, scope.arrived)
        with laps.lap("router"):
            answer = await self.route(request.query, request.locale, laps)
        scope.record(laps.stages)
        return answer

    def watch(self, telemetry: Telemetry) -> None:
        """Shows how many texts wait for the encoder."""
        telemetry.metrics.watch_queue("encoder", self._encoder.queued)

    async def route(self, query: str, locale: str = "", laps: Laps | None = None) -> router_pb2.RouteResponse:
        """Classifies one query. The encoder works on a thread of its own while the slots are found here."""
        known = self._knowledge
        laps = laps or Laps(time.monotonic, 0.0)
        text = clean(query)
        with laps.lap("router.embed"):  # the slots are looked for meanwhile
            async with asyncio.TaskGroup() as tasks:
                embedding = tasks.create_task(self._embed(text.shown), name="embed")
                await asyncio.sleep(0)  # lets the encoder start before the slots are looked for
                with laps.lap("router.slots"):
                    found = known.slots.find(text)
                bare = (
                    tasks.create_task(self._embed(found.bare), name="embed bare")
                    if found.bare != text.shown
                    else embedding
                )
                await asyncio.sleep(0)
                slots = found.slots
                with laps.lap("router.language"):
                    language = known.languages.find(text.shown, _names(slots), locale)
        vector = embedding.result()
        with laps.lap("router.intent"):
            neighbours = known.intents.nearest(pair(vector, bare.result()))
            verdict = policy.decide(
                neighbours,
                self._names,
                known.domain.fallback_intent,
                self._trip_intents,
                policy.Said(slots=slots, left=len(found.rest), whole_place=found.whole_place, trip=found.trip),
                known.rules,
            )
        return router_pb2.RouteResponse(
            language=language,
            intent=verdict.intent,
            confidence=verdict.confidence,
            runner_up=verdict.runner_up,
            runner_up_confidence=verdict.runner_up_confidence,
            slots=[slot_to_message(slot) for slot in slots],
            complexity=policy.complexity(slots, len(text.shown)).value,  # type: ignore[arg-type]  # numbers are the same
            embedding=pack(vector),
            embedding_model=self._encoder.encoder.model,
            unsupported_language=_unsupported(language, known.model_languages),
        )

    async def _embed(self, text: str) -> Vectors:
        scope = current_or_none()
        try:
            async with asyncio.timeout(scope.deadline.remaining() if scope else None):
                return await self._encoder.embed(text)
        except TimeoutError as late:
            raise HeadwayError(
                Reason.DEADLINE_EXPIRED, "the deadline passed while the query waited for the encoder"
            ) from late


def _names(slots: tuple[Slot, ...]) -> tuple[str, ...]:
    """Words of the query that are names of places, which say nothing about its language."""
    return tuple(slot.text for slot in slots if slot.name == "destination")


def _unsupported(language: str, model_languages: frozenset[str]) -> bool:
    """A model whose languages are not known, and a language that cannot be told, count as fitting."""
    return language != UNKNOWN and bool(model_languages) and language not in model_languages
