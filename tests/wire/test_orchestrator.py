"""The orchestrator between scripted neighbours, over real gRPC: the flow, and what it does on bad days."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from headway.budget import Budget, Tier
from headway.errors import reason_of
from headway.interceptors import BUDGET_KEY
from headway.messages import budget_to_message
from headway.request import DeadlineSource, RequestScope, current
from headway.server import SharedConfig
from headway.testing import eventually, plain_channel, task_names
from headway.v1 import (
    generator_pb2,
    item_pb2,
    ledger_pb2,
    recommendation_pb2,
    recommendation_pb2_grpc,
    retrieval_pb2,
    router_pb2,
)
from tests.wire.scripted import (
    Script,
    ask,
    finds_internal,
    forever,
    generator_plan,
    generator_summary,
    internal,
    item,
    items,
    kinds,
    notices,
    orchestrator,
    retrieval_plan,
    routes_to_korean_travel,
    web,
    writes_all,
)


async def fails(_request: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAVAILABLE, "down")


def summary(events: list[Any]) -> recommendation_pb2.Summary:
    assert events[-1].WhichOneof("event") == "summary"
    last: recommendation_pb2.Summary = events[-1].summary
    return last


async def test_the_plan_comes_first_then_items_and_the_summary_last() -> None:
    async with orchestrator(Script()) as target:
        events = await ask(target)
    assert kinds(events) == ["plan", *["item"] * 9, "summary"]
    plan = events[0].plan
    assert (plan.intent, plan.language, list(plan.sections)) == (
        "travel_recommendation",
        "ko",
        ["lodging", "food", "sights"],
    )
    assert plan.deadline_source == recommendation_pb2.DEADLINE_SOURCE_CALLER
    assert {each.stage for each in plan.stages} >= {"router", "retrieval.internal", "generator.lodging"}
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_MAX_ITEMS
    assert summary(events).items == 9
    assert {stage.name for stage in summary(events).ledger} >= {"router"}


async def test_every_item_has_its_own_rank_and_no_record_comes_twice() -> None:
    async with orchestrator(Script()) as target:
        found = items(await ask(target, max_items=17))
    assert len(found) == 17
    assert len({(each.section, each.rank) for each in found}) == 17
    assert len({source for each in found for source in each.sources}) == 17
    assert len({each.item_id for each in found}) == 17


async def test_the_first_item_is_forwarded_while_the_others_are_still_being_written() -> None:
    go_on = asyncio.Event()

    async def one_then_wait(request: Any, context: Any) -> None:
        await context.write(generator_plan())
        await context.write(item(request, 0))
        await go_on.wait()
        for number in range(1, request.count):
            await context.write(item(request, number))
        await context.write(generator_summary())

    async with orchestrator(Script(generate=one_then_wait)) as target, plain_channel(target) as open_channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(open_channel)
        call = stub.Recommend(recommendation_pb2.RecommendRequest(query="q"), timeout=20)
        events = aiter(call)
        seen = [await anext(events) for _ in range(4)]
        assert kinds(seen) == ["plan", "item", "item", "item"]
        go_on.set()
        rest = [event async for event in events]
        assert kinds(rest) == [*["item"] * 6, "summary"]


async def test_sections_and_number_of_items_are_those_asked_for() -> None:
    script = Script()
    async with orchestrator(script) as target:
        events = await ask(target, sections=["sights", "food"], max_items=3)
    assert list(events[0].plan.sections) == ["food", "sights"]
    assert sorted((each.section, each.rank) for each in items(events)) == [("food", 1), ("food", 2), ("sights", 1)]


async def test_an_unknown_section_is_refused_by_name() -> None:
    async with orchestrator(Script()) as target:
        with pytest.raises(grpc.aio.AioRpcError, match="flights") as caught:
            await ask(target, sections=["food", "flights"])
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "sections[1]" in str(caught.value.details())


@pytest.mark.parametrize(
    "request_fields",
    [
        {"query": ""},
        {"query": "   "},
        {"query": "x" * 10_000},
        {"query": "a\x00b"},
        {"query": "q", "locale": "not a locale"},
        {"query": "q", "max_items": 0},
        {"query": "q", "max_items": 51},
        {"query": "q", "min_tier": 3, "max_tier": 1},
    ],
)
async def test_bad_input_is_refused_naming_what_is_wrong(request_fields: dict[str, Any]) -> None:
    async with orchestrator(Script()) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(target, **request_fields)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert reason_of(caught.value) == "INVALID_REQUEST"
        assert kinds(await ask(target))[-1] == "summary"


async def test_what_is_no_recommendation_gets_a_plan_a_notice_and_no_items() -> None:
    async def flights(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        return router_pb2.RouteResponse(language="ko", intent="flight_search", confidence=0.9)

    async with orchestrator(Script(route=flights)) as target:
        events = await ask(target, query="인천에서 오사카 항공권")
    assert kinds(events) == ["plan", "notice", "summary"]
    assert list(events[0].plan.sections) == []
    assert events[1].notice.reason == ledger_pb2.DEGRADATION_REASON_NOT_A_RECOMMENDATION
    assert "항공권" in events[1].notice.detail
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_COMPLETE


async def test_without_a_router_the_query_still_gets_items() -> None:
    async with orchestrator(Script(route=fails)) as target:
        events = await ask(target)
    assert len(items(events)) == 9
    assert notices(events)[0].stage == "router"
    assert events[0].plan.language == "ko"


async def test_a_router_that_hangs_costs_its_allowance_only() -> None:
    async with orchestrator(Script(route=forever)) as target:
        events = await ask(target, timeout=5.0)
    assert len(items(events)) == 9
    assert notices(events)[0].reason == ledger_pb2.DEGRADATION_REASON_OUT_OF_TIME


async def test_generation_does_not_wait_for_the_web_and_web_results_feed_later_items() -> None:
    generating, web_arrived = asyncio.Event(), asyncio.Event()
    fresh = web(0)

    async def retrieve(_request: Any, context: Any) -> None:
        await context.write(retrieval_plan("tavily"))
        await context.write(internal())
        await generating.wait()
        web_arrived.set()
        fresh.records.records.extend(web(1, "food").records.records)
        await context.write(fresh)
        await context.write(retrieval_pb2.RetrieveResponse(summary=retrieval_pb2.RetrieveSummary()))

    async def generate(request: Any, context: Any) -> None:
        if not web_arrived.is_set():
            generating.set()
        await writes_all(request, context)

    script = Script(retrieve=retrieve, generate=generate)
    async with orchestrator(script) as target:
        events = await ask(target)
    found = items(events)
    assert len(found) == 9
    assert [(each.section, each.rank) for each in found if each.sources[0] == "food-100"] == [("food", 4)]
    assert sorted(each.section for each in found) == ["food"] * 4 + ["lodging"] * 3 + ["sights"] * 2


async def test_a_section_of_many_items_is_written_by_several_streams_at_once() -> None:
    together: set[int] = set()
    all_begun = asyncio.Event()

    async def waits_for_the_others(request: Any, context: Any) -> None:
        together.add(request.first_rank)
        if len(together) == 3:
            all_begun.set()
        await all_begun.wait()
        await writes_all(request, context)

    async with orchestrator(Script(generate=waits_for_the_others)) as target:
        found = items(await ask(target, sections=["lodging"]))
    assert sorted(each.rank for each in found) == list(range(1, 10))
    assert len({each.sources[0] for each in found}) == 9


async def test_the_web_is_not_asked_when_the_answer_has_no_place_for_its_results() -> None:
    script = Script()
    async with orchestrator(script) as target:
        assert len(items(await ask(target, max_items=2))) == 2
    [asked] = [each for each in script.asked if isinstance(each, retrieval_pb2.RetrieveRequest)]
    assert asked.internal_only


async def test_the_only_item_of_the_last_section_may_wait_for_the_web() -> None:
    async def retrieve(_asked: Any, context: Any) -> None:
        await context.write(retrieval_plan("tavily"))
        await context.write(internal())
        await context.write(web(1, "sights"))
        await context.write(retrieval_pb2.RetrieveResponse(summary=retrieval_pb2.RetrieveSummary()))

    async with orchestrator(Script(retrieve=retrieve)) as target:
        found = items(await ask(target, max_items=3))
    assert {each.section: each.sources[0] for each in found} == {
        "lodging": "lodging-0",
        "food": "food-0",
        "sights": "sights-100",
    }


async def test_a_small_answer_asks_the_web_when_the_catalogue_has_nothing() -> None:
    async def retrieve(asked: Any, context: Any) -> None:
        await context.write(retrieval_plan("none" if asked.internal_only else "tavily"))
        await context.write(internal(0))
        if not asked.internal_only:
            await context.write(web(3))
        await context.write(retrieval_pb2.RetrieveResponse(summary=retrieval_pb2.RetrieveSummary()))

    async with orchestrator(Script(retrieve=retrieve)) as target:
        found = items(await ask(target, max_items=2))
    assert len({each.sources[0] for each in found} & {"web-100", "web-101", "web-102"}) == 2


async def test_a_web_that_never_comes_leaves_its_items_to_internal_records() -> None:
    async def retrieve(_request: Any, context: Any) -> None:
        await context.write(retrieval_plan("tavily"))
        await context.write(internal())
        await context.write(
            retrieval_pb2.RetrieveResponse(
                notice=ledger_pb2.Notice(
                    stage="retrieval.web", reason=ledger_pb2.DEGRADATION_REASON_OUT_OF_TIME, detail="late"
                )
            )
        )
        await context.write(retrieval_pb2.RetrieveResponse(summary=retrieval_pb2.RetrieveSummary()))

    async with orchestrator(Script(retrieve=retrieve)) as target:
        events = await ask(target)
    assert len(items(events)) == 9
    assert [notice.stage for notice in notices(events)] == ["retrieval.web"]


async def test_when_only_the_web_knows_anything_all_items_rest_on_it() -> None:
    async def retrieve(_request: Any, context: Any) -> None:
        await context.write(retrieval_plan("tavily"))
        await context.write(internal(0))
        await context.write(web(9))
        await context.write(retrieval_pb2.RetrieveResponse(summary=retrieval_pb2.RetrieveSummary()))

    async with orchestrator(Script(retrieve=retrieve)) as target:
        found = items(await ask(target))
    assert len(found) == 9
    assert all(each.sources[0].startswith("web-") for each in found)


async def test_an_empty_retrieval_is_an_error_that_says_what_to_do() -> None:
    async def nothing(_request: Any, context: Any) -> None:
        await context.write(retrieval_plan())
        await context.write(internal(0))
        await context.write(retrieval_pb2.RetrieveResponse(summary=retrieval_pb2.RetrieveSummary()))

    async with orchestrator(Script(retrieve=nothing)) as target:
        with pytest.raises(grpc.aio.AioRpcError, match="import a catalogue") as caught:
            await ask(target)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert reason_of(caught.value) == "NOTHING_FOUND"


async def test_retrieval_that_is_down_ends_in_unavailable() -> None:
    async with orchestrator(Script(retrieve=fails)) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(target)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(caught.value) == "UPSTREAM_UNAVAILABLE"


async def test_retrieval_that_breaks_off_before_any_record_is_asked_once_more() -> None:
    calls = 0

    async def second_time(request: Any, context: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            await context.write(retrieval_plan())
            await context.abort(grpc.StatusCode.INTERNAL, "broke")
        await finds_internal(request, context)

    async with orchestrator(Script(retrieve=second_time)) as target:
        events = await ask(target)
    assert len(items(events)) == 9
    assert calls == 2


async def test_a_generator_that_is_down_leaves_everything_to_the_floor() -> None:
    async with orchestrator(Script(generate=fails)) as target:
        events = await ask(target)
    found = items(events)
    assert len(found) == 9
    assert {each.tier for each in found} == {item_pb2.TIER_EXTRACTIVE}
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_UPSTREAM_EXHAUSTED
    assert {notice.reason for notice in notices(events)} == {ledger_pb2.DEGRADATION_REASON_UPSTREAM_UNAVAILABLE}
    assert {"floor.lodging", "floor.food", "floor.sights"} <= {stage.name for stage in summary(events).ledger}


async def test_a_generator_that_breaks_off_is_asked_for_the_rest_with_the_given_ids_excluded() -> None:
    broken: set[str] = set()

    async def breaks_once(request: Any, context: Any) -> None:
        if request.section in broken:
            await writes_all(request, context)
            return
        broken.add(request.section)
        await context.write(generator_plan())
        await context.write(item(request, 0))
        await context.abort(grpc.StatusCode.INTERNAL, "broke")

    script = Script(generate=breaks_once)
    async with orchestrator(script) as target:
        events = await ask(target)
    found = items(events)
    assert len(found) == 9
    assert len({each.sources[0] for each in found}) == 9
    assert {each.tier for each in found} == {item_pb2.TIER_SMALL}
    again = [each for each in script.asked if isinstance(each, generator_pb2.GenerateRequest) and each.first_rank == 2]
    assert all(len(each.excluded_record_ids) == 1 and each.count == 2 for each in again)
    assert len(again) == 3


async def test_at_the_deadline_minus_the_reserve_the_floor_fills_what_is_missing() -> None:
    async def one_then_hang(request: Any, context: Any) -> None:
        await context.write(generator_plan())
        await context.write(item(request, 0))
        await forever()

    # A wide reserve, so that a busy machine still has time to write.
    shared = SharedConfig(reserve=0.5, drain_notice=0.0, drain_grace=1.0)
    async with orchestrator(Script(generate=one_then_hang), shared=shared) as target:
        events = await ask(target, timeout=2.5)
    found = items(events)
    assert len(found) == 9
    assert sorted(each.tier for each in found) == [item_pb2.TIER_EXTRACTIVE] * 6 + [item_pb2.TIER_SMALL] * 3
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_DEADLINE


async def test_a_caller_that_wants_no_floor_items_gets_none() -> None:
    async with orchestrator(Script(generate=fails)) as target:
        events = await ask(target, min_tier=item_pb2.TIER_SMALL)
    assert items(events) == []
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_UPSTREAM_EXHAUSTED


async def test_a_caller_without_a_deadline_gets_the_default_one() -> None:
    shared = SharedConfig(default_deadline=2.0, reserve=0.4, drain_notice=0.0, drain_grace=1.0)
    async with orchestrator(Script(generate=forever), shared=shared) as target:
        events = await ask(target, timeout=None)
    assert events[0].plan.deadline_source == recommendation_pb2.DEADLINE_SOURCE_DEFAULT
    assert len(items(events)) == 9
    assert summary(events).finish_reason == generator_pb2.FINISH_REASON_DEADLINE


async def test_a_deadline_of_a_millisecond_is_refused_and_the_next_request_works() -> None:
    async with orchestrator(Script()) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(target, timeout=0.001)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert len(items(await ask(target))) == 9


async def test_time_that_ends_before_the_query_is_understood_is_an_error_not_an_empty_answer() -> None:
    shared = SharedConfig(default_deadline=0.002, reserve=0.0, drain_notice=0.0, drain_grace=1.0)
    async with orchestrator(Script(route=forever), shared=shared) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(target, timeout=None)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert reason_of(caught.value) == "DEADLINE_EXPIRED"


async def test_a_caller_that_leaves_after_the_first_item_stops_every_downstream_call() -> None:
    running: set[str] = set()

    async def one_then_hang(request: Any, context: Any) -> None:
        running.add(request.section)
        try:
            await context.write(generator_plan())
            await context.write(item(request, 0))
            await forever()
        finally:
            running.discard(request.section)

    async with orchestrator(Script(generate=one_then_hang)) as target, plain_channel(target) as open_channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(open_channel)
        call = stub.Recommend(recommendation_pb2.RecommendRequest(query="q"), timeout=60)
        while (await call.read()).WhichOneof("event") != "item":
            pass
        await eventually(lambda: len(running) == 3, what="all sections are being written")
        call.cancel()
        await eventually(lambda: not running, what="every generator call was cancelled")

        async def no_pieces() -> bool:
            return not [name for name in await task_names() if name.startswith("piece.")]

        await eventually(no_pieces, what="no task was left behind")
        stub2: Any = recommendation_pb2_grpc.RecommendationServiceStub(open_channel)
        second = stub2.Recommend(recommendation_pb2.RecommendRequest(query="q"), timeout=5)
        assert (await second.read()).WhichOneof("event") == "plan"
        second.cancel()


async def test_a_caller_that_never_reads_does_not_hold_the_request_beyond_its_deadline() -> None:
    async with orchestrator(Script()) as target, plain_channel(target) as open_channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(open_channel)
        call = stub.Recommend(recommendation_pb2.RecommendRequest(query="q", max_items=50), timeout=1.0)
        await call.wait_for_connection()

        async def nothing_runs() -> bool:
            return not [name for name in await task_names() if name.startswith("piece.")]

        await eventually(nothing_runs, within=20, what="the answer ended")
        assert len(items(await ask(target))) == 9
        call.cancel()


async def test_the_ledger_travels_as_trailing_metadata_too() -> None:
    async with orchestrator(Script()) as target, plain_channel(target) as open_channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(open_channel)
        call = stub.Recommend(recommendation_pb2.RecommendRequest(query="q"), timeout=5)
        events = [event async for event in call]
        trailing = dict(await call.trailing_metadata())
    ledger = ledger_pb2.Ledger.FromString(trailing["headway-ledger-bin"])
    assert [stage.name for stage in ledger.stages] == [stage.name for stage in summary(events).ledger]


async def test_a_tenant_claimed_by_the_caller_counts_for_nothing() -> None:
    seen: list[str] = []

    async def route(asked: Any, context: Any) -> router_pb2.RouteResponse:
        seen.append(current().budget.tenant)
        return await routes_to_korean_travel(asked, context)

    claimed = budget_to_message(Budget(tenant="somebody-else")).SerializeToString()
    async with orchestrator(Script(route=route)) as target, plain_channel(target) as open_channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(open_channel)
        call = stub.Recommend(
            recommendation_pb2.RecommendRequest(query="q"), timeout=5, metadata=((BUDGET_KEY, claimed),)
        )
        assert [event async for event in call]
    assert seen == [""]


async def test_only_the_cache_has_nothing_to_give_yet() -> None:
    async with orchestrator(Script()) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(target, cache=recommendation_pb2.CACHE_POLICY_ONLY)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert reason_of(caught.value) == "NOT_CACHED"


async def test_deadline_and_budget_reach_every_neighbour_also_those_that_stream() -> None:
    seen: dict[str, RequestScope] = {}

    async def route(asked: Any, context: Any) -> router_pb2.RouteResponse:
        seen["router"] = current()
        return await routes_to_korean_travel(asked, context)

    async def retrieve(asked: Any, context: Any) -> None:
        seen["retrieval"] = current()
        await finds_internal(asked, context)

    async def generate(asked: Any, context: Any) -> None:
        seen[asked.section] = current()
        await writes_all(asked, context)

    async with orchestrator(Script(route=route, retrieve=retrieve, generate=generate)) as target:
        events = await ask(target, timeout=3.0, max_tier=item_pb2.TIER_SMALL)
    assert set(seen) == {"router", "retrieval", "lodging", "food", "sights"}
    assert {scope.request_id for scope in seen.values()} == {events[0].plan.request_id}
    assert all(scope.source is DeadlineSource.CALLER for scope in seen.values())
    assert {scope.budget.ceiling_tier for scope in seen.values()} == {Tier.SMALL}
    spans = {name: scope.deadline.instant - scope.arrived for name, scope in seen.items()}
    assert spans["router"] <= 0.31
    assert all(0 < span < 3.0 for span in spans.values())
