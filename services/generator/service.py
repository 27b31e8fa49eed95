"""The generator as a gRPC service: messages to values and back.

Decides nothing about rungs; it says what the request is and writes down what comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc

from headway import request as request_scope
from headway.budget import Tier
from headway.ledger import Degraded, total_usage
from headway.messages import (
    duration,
    item_to_message,
    notice_to_message,
    record_from_message,
    slot_from_message,
    stage_to_message,
    usage_to_message,
)
from headway.records import Draft
from headway.request import RequestScope
from headway.telemetry import Telemetry
from headway.v1 import generator_pb2, generator_pb2_grpc, retrieval_pb2
from services.generator.policy import Choice, Complexity
from services.generator.writing import Ask, Desk, Report

DEFAULT_LANGUAGE = "en"


class GeneratorService(generator_pb2_grpc.GeneratorServiceServicer):
    """``headway.v1.GeneratorService``. ``first_item_within``: seconds, the wish where the caller has none."""

    def __init__(self, desk: Desk, *, first_item_within: float) -> None:
        self._desk = desk
        self._first_item_within = first_item_within

    async def Generate(  # type: ignore[override]  # a coroutine that writes can own its tasks; a generator cannot
        self, request: generator_pb2.GenerateRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        """Plan, items and notices, summary."""
        scope = request_scope.current()
        ask = self._ask(request, scope)
        choice = self._desk.plan(ask)
        await context.write(generator_pb2.GenerateResponse(plan=_plan(ask, choice)))
        report = await self._desk.write(ask, choice, _Stream(request, context, scope))
        scope.record(report.stages)
        await context.write(generator_pb2.GenerateResponse(summary=_summary(report)))

    def watch(self, telemetry: Telemetry) -> None:
        """States which models there are, the metrics count all others as one; and lets losses of the prompt cache be
        counted."""
        telemetry.metrics.know_models(self._desk.ladder.models())
        self._desk.prompt_cache.report = telemetry.metrics.prompt_cache_lost

    def _ask(self, request: generator_pb2.GenerateRequest, scope: RequestScope) -> Ask:
        number: int = request.complexity
        complexity = Complexity(number) if number in list(Complexity) else Complexity.UNSPECIFIED
        return Ask(
            query=request.query,
            language=_language(request.language),
            section=request.section,
            slots=[slot_from_message(slot) for slot in request.slots],
            records=[record_from_message(record) for record in request.records],
            given=frozenset(request.excluded_record_ids),
            count=request.count,
            complexity=complexity,
            budget=scope.budget,
            limit=scope.deadline.before(scope.reserve()),
            arrived=scope.arrived,
            first_item_within=self._wish(scope, complexity),
        )

    def _wish(self, scope: RequestScope, complexity: Complexity) -> float | None:
        """Seconds left for a first item, or None where nobody wishes for one."""
        wished = scope.budget.first_item_within
        if wished is None:
            if complexity is Complexity.COMPLEX:
                return None
            wished = self._first_item_within
        return max(0.0, wished - scope.spent())


class _Stream:
    """Items and notices of one request, written to its caller."""

    def __init__(
        self,
        request: generator_pb2.GenerateRequest,
        context: grpc.aio.ServicerContext[Any, Any],
        scope: RequestScope,
    ) -> None:
        self._scope = scope
        self._prompts = 0
        self._section = request.section
        self._rank = max(1, request.first_rank)
        self._records: Mapping[str, retrieval_pb2.Record] = {
            record.record_id: record for record in reversed(request.records)
        }
        self._context = context

    async def item(self, draft: Draft, tier: Tier) -> None:
        item = item_to_message(draft, tier, self._records[draft.sources[0]], section=self._section, rank=self._rank)
        self._scope.span.content(f"headway.item.{self._rank}", f"{draft.title}\n{draft.body}")
        self._rank += 1
        await self._context.write(generator_pb2.GenerateResponse(item=item))

    def prompt(self, message: str) -> None:
        self._prompts += 1
        self._scope.span.content(f"headway.prompt.{self._prompts}", message)

    async def notice(self, degraded: Degraded) -> None:
        self._scope.record_degraded(degraded)
        await self._context.write(generator_pb2.GenerateResponse(notice=notice_to_message(degraded)))


def _language(text: str) -> str:
    return text.replace("_", "-").split("-")[0].lower() or DEFAULT_LANGUAGE


def _plan(ask: Ask, choice: Choice) -> generator_pb2.GeneratePlan:
    rung = choice.rung
    return generator_pb2.GeneratePlan(
        rung=rung.name if rung else "extractive",
        tier=choice.tier.value,  # type: ignore[arg-type]  # the numbers are the same by contract
        backend=rung.backend if rung else "",
        model=rung.model if rung else "",
        max_tokens=choice.max_tokens,
        reason=choice.reason,
        allowance=duration(ask.limit.remaining()),
    )


def _summary(report: Report) -> generator_pb2.GenerateSummary:
    return generator_pb2.GenerateSummary(
        finish_reason=report.finish.value,  # type: ignore[arg-type]  # the numbers are the same by contract
        items=report.items,
        dropped_items=report.dropped,
        ttft=None if report.ttft is None else duration(report.ttft),
        usage=usage_to_message(total_usage(report.stages)),
        stages=[stage_to_message(stage) for stage in report.stages],
    )
