"""The product over gRPC, as a caller has it: default settings, a timeout, a query.

An edge: knows the public service's messages. The only wish that is not a default is the number of items, the same in
every arm, and that the answer cache stays out, since each arm is asked the same queries again and again.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace

import grpc
from google.protobuf.duration_pb2 import Duration

from bench.arms import models
from bench.arms.measured import Clock, Outcome, Stopwatch
from bench.arms.queries import Query
from headway.ledger import Usage
from headway.v1 import item_pb2, recommendation_pb2, recommendation_pb2_grpc

DEADLINE = 5.0
_TIERS = {item_pb2.TIER_SMALL: models.SMALL, item_pb2.TIER_LARGE: models.LARGE}
EXTRACTIVE = "extractive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """An arm that calls RecommendationService. `tiers` is told which tier wrote first for a query."""

    channel: grpc.aio.Channel
    tiers: MutableMapping[str, str]
    clock: Clock

    async def answer(self, query: Query) -> Outcome:
        """See `bench.arms.pipeline.Arm`. An item of the floor counts as an item, but not as the first one: that has to
        come from a model. Raises grpc.aio.AioRpcError."""
        whole = len(query.shares()) > 1
        request = recommendation_pb2.RecommendRequest(
            query=query.text,
            max_items=query.count,
            sections=() if whole else query.sections,
            cache=recommendation_pb2.CACHE_POLICY_BYPASS,
        )
        watch = Stopwatch(self.clock)
        extractive = 0
        async for event in recommendation_pb2_grpc.RecommendationServiceStub(self.channel).Recommend(
            request, timeout=DEADLINE
        ):
            kind = event.WhichOneof("event")
            if kind == "item":
                tier = _TIERS.get(event.item.tier)
                if tier is None:
                    extractive += 1
                    continue
                watch.item(tier)
                self.tiers[query.text] = tier if watch.items == 1 else self.tiers[query.text]
            elif kind == "plan":
                watch.mark("plan")
            elif kind == "summary":
                _sum_up(event.summary, watch)
        outcome = watch.outcome(wanted=query.count - extractive)
        if not extractive:
            return outcome
        return replace(outcome, items=outcome.items + extractive, tiers=(*outcome.tiers, EXTRACTIVE))


def _sum_up(summary: recommendation_pb2.Summary, watch: Stopwatch) -> None:
    usage = summary.usage
    watch.spend(
        Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost_usd=usage.cost_usd,
        )
    )
    if summary.HasField("ttft"):
        watch.first_token = _seconds(summary.ttft)
    if summary.HasField("ttf_item"):
        watch.marks["ttf_item of the orchestrator"] = _seconds(summary.ttf_item)
    for stage in summary.ledger:
        watch.marks.setdefault(f"end of {stage.name}", _seconds(stage.started_after) + _seconds(stage.spent))


def _seconds(span: Duration) -> float:
    return span.seconds + span.nanos * 1e-9
