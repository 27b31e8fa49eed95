"""A public service that answers by a script, so that clients of other makes can be held to the contract alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headway import request
from headway.ledger import Attempt, Stage
from headway.messages import duration, stage_to_message
from headway.server import Hosted, always_ready
from headway.v1 import (
    generator_pb2,
    item_pb2,
    ledger_pb2,
    recommendation_pb2,
    recommendation_pb2_grpc,
)

SERVICE = "headway.v1.RecommendationService"
METHOD = f"{SERVICE}/Recommend"
LEDGER_KEY = "headway-ledger-bin"
TITLES = {"jeju-seongsan": "성산일출봉", "jeju-bijarim": "Bijarim Forest", "tokyo-tsukiji": "築地場外市場"}
LEDGER = (
    Stage(name="router", allowance=0.1, spent=0.004, rung="multilingual"),
    Stage(
        name="generator.sights",
        allowance=2.5,
        spent=1.25,
        rung="small",
        attempts=(Attempt(backend="simulator", model="small-1", outcome="ok", spent=1.2, ttft=0.3),),
    ),
)


def scripted() -> Hosted:
    """The service, ready to be hosted."""
    return Hosted(
        name=SERVICE,
        register=lambda server: recommendation_pb2_grpc.add_RecommendationServiceServicer_to_server(
            ScriptedRecommendations(), server
        ),
        check=always_ready,
    )


class ScriptedRecommendations(recommendation_pb2_grpc.RecommendationServiceServicer):
    """Plan, one item for each title, a notice, the summary, and the ledger once more as trailing metadata."""

    async def Recommend(self, request: recommendation_pb2.RecommendRequest, context: Any) -> None:
        for event in _events(request):
            await context.write(event)
        ledger = ledger_pb2.Ledger(stages=[stage_to_message(each) for each in LEDGER])
        context.set_trailing_metadata(((LEDGER_KEY, ledger.SerializeToString()),))


def _events(asked: recommendation_pb2.RecommendRequest) -> Iterator[recommendation_pb2.RecommendResponse]:
    event = recommendation_pb2.RecommendResponse
    scope = request.current()
    yield event(
        plan=recommendation_pb2.Plan(
            request_id=scope.request_id,
            intent="travel_recommendation",
            language="ko",
            sections=["sights"],
            deadline=duration(scope.deadline.instant - scope.arrived),
            deadline_source=scope.source.value,
            max_items=asked.max_items or 9,
        )
    )
    for rank, (source, title) in enumerate(TITLES.items(), start=1):
        place = item_pb2.Place(latitude=33.458, longitude=126.942, city="jeju", country="KR")
        item = item_pb2.Item(
            item_id=f"sights-{rank}", section="sights", rank=rank, title=title, sources=[source], place=place
        )
        item.tier = item_pb2.TIER_SMALL
        item.attributes.update({"tags": ["nature", "hiking"], "child_friendly": True, "price_level": 1})
        yield event(item=item)
    yield event(
        notice=ledger_pb2.Notice(
            stage="retrieval.web", reason=ledger_pb2.DEGRADATION_REASON_OUT_OF_TIME, detail="no time for the web"
        )
    )
    yield event(
        summary=recommendation_pb2.Summary(
            finish_reason=generator_pb2.FINISH_REASON_COMPLETE,
            items=len(TITLES),
            cache=recommendation_pb2.CACHE_RESULT_MISS,
            ttf_item=duration(0.31),
            total=duration(1.3),
            ledger=[stage_to_message(each) for each in LEDGER],
        )
    )
