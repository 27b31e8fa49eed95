"""The public API: requests to values, events to messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headway.budget import Tier
from headway.errors import FieldViolation, HeadwayError, Reason, invalid
from headway.messages import seconds, tier_from_number
from headway.request import RequestScope, current, serving
from headway.v1 import recommendation_pb2, recommendation_pb2_grpc
from services.orchestrator.answer import Answer, Parts
from services.orchestrator.explain import Recent
from services.orchestrator.outlet import Query
from services.orchestrator.responses import ResponseStream


class RecommendationService(recommendation_pb2_grpc.RecommendationServiceServicer):
    """Answers ``Recommend`` with the parts of this process."""

    def __init__(self, parts: Parts, recent: Recent | None = None) -> None:
        self._parts = parts
        self._recent = recent or Recent(0)

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
        with serving(scope), self._recent.account(scope.request_id, scope.arrived) as account:
            async with ResponseStream(context, scope, account) as stream:
                await Answer(query, self._parts, scope, stream).give()


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
