"""The accounts of recent requests, asked over real gRPC of a real orchestrator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from headway.errors import reason_of
from headway.interceptors import BUDGET_KEY
from headway.testing import eventually, plain_channel
from headway.v1 import (
    budget_pb2,
    explain_pb2,
    explain_pb2_grpc,
    recommendation_pb2,
    recommendation_pb2_grpc,
    router_pb2,
)
from tests.wire.scripted import Script, ask, finds_internal, forever, kinds, notices, orchestrator

QUERY = "제주 비밀 여행 3박4일"


@asynccontextmanager
async def explaining(target: str) -> AsyncIterator[Any]:
    async with plain_channel(target) as channel:
        stub: Any = explain_pb2_grpc.ExplainServiceStub(channel)

        async def explain(request_id: str) -> explain_pb2.ExplainResponse:
            answer: explain_pb2.ExplainResponse = await stub.Explain(
                explain_pb2.ExplainRequest(request_id=request_id), timeout=5
            )
            return answer

        yield explain


async def routes_with_a_slot(_request: Any, _context: Any) -> router_pb2.RouteResponse:
    slot = router_pb2.Slot(name="nights", value="3", text="비밀 여행 3박")
    return router_pb2.RouteResponse(language="ko", intent="travel_recommendation", confidence=0.9, slots=[slot])


async def refuses(_request: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")


async def test_an_account_holds_what_was_sent_but_neither_the_querys_words_nor_the_items() -> None:
    async with orchestrator(Script(route=routes_with_a_slot), keep=5) as target, explaining(target) as explain:
        events = await ask(target, query=QUERY)
        account = await explain(events[0].plan.request_id)
    plan = recommendation_pb2.Plan()
    plan.CopyFrom(events[0].plan)
    assert plan.slots[0].text
    plan.slots[0].ClearField("text")
    assert account.plan == plan
    assert account.summary == events[-1].summary
    assert not account.HasField("failure")
    assert account.age.ToNanoseconds() >= account.summary.total.ToNanoseconds()
    kept = account.SerializeToString().decode(errors="ignore")
    assert "비밀" not in kept
    assert not [event.item.title for event in events if event.HasField("item") and event.item.title in kept]


async def test_notices_are_kept_in_their_order() -> None:
    async with orchestrator(Script(route=refuses), keep=5) as target, explaining(target) as explain:
        events = await ask(target)
        account = await explain(events[0].plan.request_id)
    assert list(account.notices) == notices(events)
    assert account.notices


async def test_only_the_latest_requests_are_kept() -> None:
    async with orchestrator(Script(), keep=2) as target, explaining(target) as explain:
        ids = [(await ask(target, sections=["food"]))[0].plan.request_id for _ in range(3)]
        for kept in ids[1:]:
            assert (await explain(kept)).plan.request_id == kept
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await explain(ids[0])
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert reason_of(caught.value) == "NOT_KEPT"
    assert "HEADWAY_EXPLAIN_KEEP" in (caught.value.details() or "")


async def test_a_request_that_failed_says_what_its_caller_was_told() -> None:
    metadata = ((BUDGET_KEY, budget_pb2.Budget(request_id="mine").SerializeToString()),)
    async with orchestrator(Script(retrieve=refuses), keep=5) as target, explaining(target) as explain:
        async with plain_channel(target) as channel:
            stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(channel)
            request = recommendation_pb2.RecommendRequest(query=QUERY)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                async for _ in stub.Recommend(request, timeout=5, metadata=metadata):
                    pass
        account = await explain("mine")
    assert account.failure.code == caught.value.code().name == "UNAVAILABLE"
    assert account.failure.reason == reason_of(caught.value)
    assert account.failure.message == caught.value.details()
    assert not account.HasField("summary")


async def test_a_request_under_way_has_no_summary_yet_and_one_whose_caller_left_says_so() -> None:
    async def stops_after_the_plan(request: Any, context: Any) -> None:
        await finds_internal(request, context)
        await forever()

    async with orchestrator(Script(retrieve=stops_after_the_plan), keep=5) as target, explaining(target) as explain:
        async with plain_channel(target) as channel:
            stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(channel)
            call = stub.Recommend(recommendation_pb2.RecommendRequest(query=QUERY), timeout=20)
            plan = (await call.read()).plan
            under_way = await explain(plan.request_id)
            assert under_way.plan.request_id == plan.request_id
            assert not under_way.HasField("summary")
            assert not under_way.HasField("failure")
            call.cancel()

        async def told() -> bool:
            return bool((await explain(plan.request_id)).failure.code)

        await eventually(told, what="the account says how it ended")
        assert (await explain(plan.request_id)).failure.code == "CANCELLED"


async def test_an_id_that_cannot_be_one_is_refused() -> None:
    async with orchestrator(Script(), keep=5) as target, explaining(target) as explain:
        for wrong in ("", "x" * 65):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await explain(wrong)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_keeping_none_switches_the_service_off() -> None:
    async with orchestrator(Script(), keep=0) as target, explaining(target) as explain:
        assert kinds(await ask(target))[-1] == "summary"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await explain("x")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
