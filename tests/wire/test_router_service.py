"""The router over real gRPC, with the real model and the domain that ships."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import grpc
import numpy as np
import pytest

from headway import domain
from headway.embedding import BatchedEncoder, OnnxEncoder, load, unpack
from headway.errors import reason_of
from headway.server import Hosted, always_ready
from headway.testing import hosting, plain_channel
from headway.v1 import router_pb2, router_pb2_grpc
from services.router.service import Knowledge, RouterService, learn
from tests.unit.routed_queries import BY_INTENT, UNHEARD_OF

ROOT = Path(__file__).resolve().parents[2]


@cache
def encoder() -> OnnxEncoder:
    return load("use-multilingual", ROOT / "models")


@cache
def knowledge() -> Knowledge:
    return learn(domain.load(ROOT / "domains" / "travel"), encoder())


def hosted(known: Knowledge, batched: BatchedEncoder) -> Hosted:
    service = RouterService(known, batched)
    return Hosted(
        name="headway.v1.RouterService",
        register=lambda server: router_pb2_grpc.add_RouterServiceServicer_to_server(service, server),
        check=always_ready,
    )


@pytest.fixture
async def router() -> AsyncIterator[router_pb2_grpc.RouterServiceAsyncStub]:
    async with (
        BatchedEncoder(encoder()) as batched,
        hosting(hosted(knowledge(), batched)) as target,
        plain_channel(target) as channel,
    ):
        yield router_pb2_grpc.RouterServiceStub(channel)  # type: ignore[misc]


async def test_a_query_comes_back_with_language_intent_slots_complexity_and_embedding(router) -> None:
    answer = await router.Route(
        router_pb2.RouteRequest(query="제주도 3박4일 가족여행, 등산 빼고 1박 10만원 이하"), timeout=5
    )
    assert (answer.language, answer.intent, answer.unsupported_language) == ("ko", "travel_recommendation", False)
    assert 0.5 < answer.confidence <= 1
    assert answer.runner_up
    assert answer.complexity == router_pb2.COMPLEXITY_MODERATE
    assert answer.embedding_model == encoder().model
    assert np.isclose(np.linalg.norm(unpack(answer.embedding)), 1, atol=1e-5)
    slots = {(slot.name, slot.value): slot for slot in answer.slots}
    assert slots["destination", "jeju"].text == "제주도"
    assert slots["nights", "3"].number == 3
    assert slots["theme", "hiking"].relation == router_pb2.SLOT_RELATION_EXCLUDED
    budget = slots["budget", "100000"]
    assert (budget.relation, budget.number, budget.unit) == (router_pb2.SLOT_RELATION_AT_MOST, 100_000, "KRW")


async def test_the_same_query_has_the_same_answer(router) -> None:
    ask = router_pb2.RouteRequest(query="3-day Tokyo trip with kids")
    first, second = await router.Route(ask, timeout=5), await router.Route(ask, timeout=5)
    assert first == second


async def test_a_language_that_the_model_lacks_is_said_to_be_so(router) -> None:
    answer = await router.Route(router_pb2.RouteRequest(query="होटल दिल्ली में सस्ता"), timeout=5)
    assert (answer.language, answer.unsupported_language) == ("hi", True)


@pytest.mark.parametrize("query", ["\x00\x07", "\u200b\u200b", "!!!", "🎉", "제" * 2000, "a " * 1000])
async def test_odd_queries_are_routed_and_the_next_one_works(router, query: str) -> None:
    odd = await router.Route(router_pb2.RouteRequest(query=query), timeout=5)
    assert odd.intent
    next_one = await router.Route(router_pb2.RouteRequest(query="부산 호텔 추천"), timeout=5)
    assert next_one.intent == "lodging_search"


@pytest.mark.parametrize("query", ["", "x" * 2001])
async def test_a_query_outside_of_the_limits_is_refused_by_name_of_the_field(router, query: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await router.Route(router_pb2.RouteRequest(query=query), timeout=5)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "query" in (refused.value.details() or "")


async def test_two_hundred_callers_at_once_each_get_their_own_answer(router) -> None:
    async def nights_of(nights: int) -> str:
        answer = await router.Route(router_pb2.RouteRequest(query=f"제주 {nights}박 여행"), timeout=20)
        return next(slot.value for slot in answer.slots if slot.name == "nights")

    answers = await asyncio.gather(*(nights_of(nights) for nights in range(1, 201)))
    assert answers == [str(nights) for nights in range(1, 201)]


async def test_when_too_many_wait_callers_are_told_to_try_again() -> None:
    async with (
        BatchedEncoder(encoder(), workers=1, batch=1, waiting=1) as batched,
        hosting(hosted(knowledge(), batched)) as target,
        plain_channel(target) as channel,
    ):
        stub = router_pb2_grpc.RouterServiceStub(channel)
        asked = [stub.Route(router_pb2.RouteRequest(query="제주 여행 " * 150), timeout=20) for _ in range(12)]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        after = await stub.Route(router_pb2.RouteRequest(query="안녕"), timeout=5)
    refused = [each for each in outcomes if isinstance(each, grpc.aio.AioRpcError)]
    assert refused
    assert {each.code() for each in refused} == {grpc.StatusCode.UNAVAILABLE}
    assert {reason_of(each) for each in refused} == {"OVERLOADED"}
    assert after.intent == "general_question"


async def test_a_domain_without_examples_routes_what_slots_do_not_tell_to_its_fallback() -> None:
    travel = knowledge().domain
    mute = replace(travel, intents=tuple(replace(intent, examples={}) for intent in travel.intents))
    async with BatchedEncoder(encoder()) as batched:
        answer = await RouterService(learn(mute, encoder()), batched).route("비행기는 왜 날까")
    assert answer.intent == travel.fallback_intent


@pytest.mark.parametrize("intent", list(BY_INTENT))
async def test_queries_that_are_no_examples_find_their_intent_nine_times_in_ten(intent: str) -> None:
    queries = BY_INTENT[intent]
    async with BatchedEncoder(encoder()) as batched:
        service = RouterService(knowledge(), batched)
        wrong = [(query, got) for query in queries if (got := (await service.route(query)).intent) != intent]
    assert len(wrong) <= len(queries) / 10, wrong


async def test_slots_alone_ask_for_recommendations_wherever_the_trip_goes() -> None:
    async with BatchedEncoder(encoder()) as batched:
        service = RouterService(knowledge(), batched)
        answers = {query: await service.route(query) for query in UNHEARD_OF}
    assert {query: got.intent for query, got in answers.items() if got.intent != "travel_recommendation"} == {}
    assert {query: got.confidence for query, got in answers.items() if got.confidence < 0.5} == {}


def test_each_intent_has_forty_examples_in_three_languages_and_none_is_a_test_query() -> None:
    tested = {query for queries in BY_INTENT.values() for query in queries}
    for intent in knowledge().domain.intents:
        lines = [line for group in intent.examples.values() for line in group]
        assert len(lines) >= 40
        assert {"ko", "en", "ja"} <= set(intent.examples)
        assert not tested & set(lines)
