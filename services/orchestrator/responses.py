"""Events of an answer as messages on the stream of its call; the public edge of the wire.

Decides how events become messages and that they are written one after the other, never what is in them.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

import structlog

from headway.errors import HeadwayError, Reason
from headway.ledger import Degraded, Stage
from headway.messages import duration, notice_to_message, slot_to_message, stage_to_message, usage_to_message
from headway.request import RequestScope
from headway.v1 import item_pb2, ledger_pb2, recommendation_pb2
from services.orchestrator.explain import Account
from services.orchestrator.outlet import PlanValue, SummaryValue

LEDGER_KEY = "headway-ledger-bin"
"""Trailing metadata key of the serialized ``headway.v1.Ledger``."""

LEDGER_BYTES = 6_000
"""Metadata beyond 8 KiB is refused by many peers; a larger ledger goes without its attempts."""

MOST_WAITING = 64
"""Events that may wait for the transport; more than an answer usually has, so that a slow reader slows no stream."""

LEAVE_WITHIN = 1.0
"""Seconds beyond the deadline that a caller without one of its own gets to take what is left."""

Response = recommendation_pb2.RecommendResponse


class ResponseStream:
    """Writes events to the stream of one call, in order, from a task of its own.

    A write that has begun must not be cancelled: the runtime keeps it under way, refuses every further one, and the
    caller never gets a status. The flow of a request is full of timeouts, so it hands its events over and only the pump
    writes. Leaving the block waits until everything is written, at most ``LEAVE_WITHIN`` beyond the deadline.
    """

    def __init__(self, context: Any, scope: RequestScope, account: Account) -> None:
        self._context = context
        self._scope = scope
        self._account = account
        self._metrics = scope.telemetry.metrics if scope.telemetry is not None else None
        self._waiting: asyncio.Queue[Response | None] = asyncio.Queue(maxsize=MOST_WAITING)

    async def __aenter__(self) -> ResponseStream:
        self._pump = asyncio.create_task(self._write_all(), name="responses")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(fault, asyncio.CancelledError):
            self._pump.cancel()  # the caller has left, or the service is being stopped
            return
        within = self._scope.deadline.remaining() + LEAVE_WITHIN
        try:
            async with asyncio.timeout(within):
                await self._waiting.put(None)
                await self._pump
        except TimeoutError as late:
            raise HeadwayError(Reason.DEADLINE_EXPIRED, "the caller did not take the answer in time") from late

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
        self._account.plan(message)
        await self._write(Response(plan=message))

    async def item(self, item: item_pb2.Item) -> None:
        if self._metrics is not None:
            self._metrics.item(item.section, item_pb2.Tier.Name(item.tier).removeprefix("TIER_"))
        await self._write(Response(item=item))

    async def notice(self, degraded: Degraded) -> None:
        message = notice_to_message(degraded)
        self._account.notice(message)
        await self._write(Response(notice=message))

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
        self._account.summary(message)
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

    async def _write(self, response: Response) -> None:
        if self._pump.done():
            await self._pump  # raises what ended it
        await self._waiting.put(response)

    async def _write_all(self) -> None:
        while (response := await self._waiting.get()) is not None:
            await self._context.write(response)


def _ledger(stages: tuple[Stage, ...]) -> bytes:
    message = ledger_pb2.Ledger(stages=[stage_to_message(stage) for stage in stages])
    if message.ByteSize() > LEDGER_BYTES:
        for stage in message.stages:
            stage.ClearField("attempts")
    return message.SerializeToString()
