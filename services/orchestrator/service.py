"""The public API: requests to values, events to messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import structlog

from headway.budget import Tier
from headway.errors import FieldViolation, HeadwayError, Reason, invalid
from headway.ledger import Degraded, Stage
from headway.messages import (
    duration,
    notice_to_message,
    seconds,
    slot_to_message,
    stage_to_message,
    tier_from_number,
    usage_to_message,
)
from headway.request import RequestScope, current, serving
from headway.v1 import item_pb2, ledger_pb2, recommendation_pb2, recommendation_pb2_grpc
from services.orchestrator.answer import Answer, Parts
from services.orchestrator.outlet import PlanValue, Query, SummaryValue

LEDGER_KEY = "headway-ledger-bin"
"""Trailing metadata key of the serialized ``headway.v1.Ledger``."""

LEDGER_BYTES = 6_000
"""Metadata beyond 8 KiB is refused by many peers; a larger ledger goes without its attempts."""

Response = recommendation_pb2.RecommendResponse


class RecommendationService(recommendation_pb2_grpc.RecommendationServiceServicer):
    """Answers ``Recommend`` with the parts of this process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def Recommend(  # type: ignore[override]  # a coroutine that writes owns its tasks; a generator cannot
        self, request: recommendation_pb2.RecommendRequest, context: Any
    ) -> None:
        if request.cache == recommendation_pb2.CACHE_POLICY_ONLY:
            raise HeadwayError(Reason.NOT_CACHED, "no answer is cached; this version has no answer cache yet")
        scope = _scope(request)
        query = Query(
            text=request.query,
            locale=request.locale,
            max_items=request.max_items if request.HasField("max_items") else self._parts.domain.default_max_items,
            sections=tuple(request.sections),
        )
        scope.span.content("headway.query", query.text)
        with serving(scope):
            await Answer(query, self._parts, scope, ResponseWriter(context, scope)).give()


class ResponseWriter:
    """Writes events to the stream of one call, one at a time."""

    def __init__(self, context: Any, scope: RequestScope) -> None:
        self._context = context
        self._scope = scope
        self._metrics = scope.telemetry.metrics if scope.telemetry is not None else None
        self._one_at_a_time = asyncio.Lock()

    async def plan(self, plan: PlanValue) -> None:
        scope, routed = self._scope, plan.routed
        message = recommendation_pb2.Plan(
            request_id=scope.request_id,
            intent=routed.intent,
            confidence=routed.confidence,
            language=plan.language,
            slots=[slot_to_message(slot) for slot in routed.slots],
            sections=plan.sections,
            stages=[
                recommendation_pb2.PlannedStage(stage=each.stage, rung=each.rung, reason=each.reason)
                for each in plan.stages
            ],
            deadline=duration(scope.deadline.instant - scope.arrived),
            deadline_source=scope.source.value,  # type: ignore[arg-type]  # the numbers are the same by contract
            max_items=plan.max_items if plan.sections else 0,
        )
        await self._write(Response(plan=message))

    async def item(self, item: item_pb2.Item) -> None:
        if self._metrics is not None:
            self._metrics.item(item.section, item_pb2.Tier.Name(item.tier).removeprefix("TIER_"))
        await self._write(Response(item=item))

    async def notice(self, degraded: Degraded) -> None:
        await self._write(Response(notice=notice_to_message(degraded)))

    async def summary(self, summary: SummaryValue) -> None:
        message = recommendation_pb2.Summary(
            finish_reason=summary.finish.value,  # type: ignore[arg-type]  # the numbers are the same by contract
            items=summary.items,
            ttft=None if summary.ttft is None else duration(summary.ttft),
            ttf_item=None if summary.ttf_item is None else duration(summary.ttf_item),
            total=duration(summary.total),
            cache=recommendation_pb2.CACHE_RESULT_MISS,
            usage=usage_to_message(summary.usage),
            ledger=[stage_to_message(stage) for stage in summary.ledger],
        )
        self._watch(summary)
        self._context.set_trailing_metadata(((LEDGER_KEY, _ledger(summary.ledger)),))
        await self._write(Response(summary=message))

    def _watch(self, summary: SummaryValue) -> None:
        """Hands what this service itself knows to log, traces and metrics; the other services tell their own stages."""
        finish = summary.finish.name
        # Calls to neighbours have spans already; what the floor did here has none.
        floors = [stage for stage in summary.own if stage.name.startswith("floor.")]
        self._scope.record(floors)
        self._scope.span.note({"headway.finish": finish, "headway.items": summary.items})
        if self._metrics is not None:
            self._metrics.answered(finish=finish, total=summary.total, first_item=summary.ttf_item)
            self._metrics.stages(stage for stage in summary.own if stage not in floors)
        structlog.get_logger().info(
            "answered",
            finish=finish.lower(),
            items=summary.items,
            first_item_ms=None if summary.ttf_item is None else round(summary.ttf_item * 1e3, 1),
            total_ms=round(summary.total * 1e3, 1),
        )

    async def _write(self, response: recommendation_pb2.RecommendResponse) -> None:
        async with self._one_at_a_time:
            await self._context.write(response)


def _scope(request: recommendation_pb2.RecommendRequest) -> RequestScope:
    """The request's scope with the wishes of its message; they win over those of the budget metadata."""
    scope = current()
    budget = scope.budget
    if request.HasField("first_item_within"):
        budget = replace(budget, first_item_within=seconds(request.first_item_within))
    if request.HasField("min_tier") and request.min_tier:
        budget = replace(budget, floor_tier=tier_from_number(request.min_tier))
    if request.HasField("max_tier") and request.max_tier:
        budget = replace(budget, ceiling_tier=tier_from_number(request.max_tier))
    ceiling = budget.ceiling_tier or Tier.LARGE
    if budget.floor_tier > ceiling:
        detail = f"the lowest tier wished for, {budget.floor_tier.name}, is above the highest allowed, {ceiling.name}"
        raise invalid([FieldViolation("min_tier", detail)])
    # A tenant comes from authentication alone; whatever a caller claims in its metadata counts for nothing.
    budget = replace(budget, tenant="")
    return replace(scope, budget=budget)


def _ledger(stages: tuple[Stage, ...]) -> bytes:
    message = ledger_pb2.Ledger(stages=[stage_to_message(stage) for stage in stages])
    if message.ByteSize() > LEDGER_BYTES:
        for stage in message.stages:
            stage.ClearField("attempts")
    return message.SerializeToString()
