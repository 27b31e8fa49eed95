"""Retrieval over real gRPC, beside a web search over real HTTP: the simulator's, or one that the test scripts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from headway.catalogue.index import Vectors, build
from headway.catalogue.record import Record
from headway.catalogue.shipped import own_files, own_records
from headway.domain import Domain, load
from headway.embedding import pack
from headway.errors import HeadwayError, Reason, reason_of
from headway.messages import duration
from headway.server import Hosted, always_ready
from headway.testing import channel, eventually, hosting, task_names
from headway.v1 import ledger_pb2, retrieval_pb2, retrieval_pb2_grpc, router_pb2
from services.retrieval.regions import regions
from services.retrieval.runner import SearchRunner
from services.retrieval.search import CatalogueSearch
from services.retrieval.service import Parts, RetrievalService
from services.retrieval.web.brave import brave
from services.retrieval.web.results import section_words
from services.retrieval.web.search import WebSearch
from services.retrieval.web.tavily import tavily

NAME = "headway.v1.RetrievalService"
MODEL = "letters@1"
DIMENSIONS = 32


class LetterEncoder:
    """Vectors from the letters of a text."""

    model = MODEL
    dimensions = DIMENSIONS

    def __init__(self, failure: HeadwayError | None = None) -> None:
        self.failure = failure
        self.embedded = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        rows = np.ones((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            for letter in text:
                rows[row, ord(letter) % DIMENSIONS] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    async def embed(self, text: str) -> Vectors:
        self.embedded += 1
        if self.failure:
            raise self.failure
        return self.encode([text])[0]


@pytest.fixture(scope="module")
def travel(root: Path) -> Domain:
    return load(root / "domains" / "travel")


@pytest.fixture(scope="module")
def shipped(travel: Domain) -> CatalogueSearch:
    return CatalogueSearch(build(LetterEncoder(), own=own_records(own_files(travel.root))), travel)


Start = Callable[..., Awaitable[retrieval_pb2_grpc.RetrievalServiceStub]]


@pytest.fixture
async def start(travel: Domain, shipped: CatalogueSearch) -> AsyncIterator[Start]:
    """Starts a retrieval service; everything is taken down again after the test."""
    async with AsyncExitStack() as lifetimes:

        async def started(
            web_search: WebSearch | None = None,
            *,
            catalogue: CatalogueSearch = shipped,
            encoder: LetterEncoder | None = None,
            on_loop: bool = False,
            web_cap: float = 5.0,
        ) -> retrieval_pb2_grpc.RetrievalServiceStub:
            parts = Parts(
                domain=travel,
                catalogue=await lifetimes.enter_async_context(SearchRunner(catalogue, on_loop=on_loop)),
                model=MODEL,
                dimensions=DIMENSIONS,
                embedder=encoder or LetterEncoder(),
                web=web_search,
                words=section_words(travel.root),
                per_section=4,
                web_cap=web_cap,
                web_floor=0.05,
                web_results=5,
            )
            service = RetrievalService(parts)
            hosted = Hosted(
                name=NAME,
                register=lambda server: retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server(service, server),
                check=always_ready,
            )
            target = await lifetimes.enter_async_context(hosting(hosted))
            return retrieval_pb2_grpc.RetrievalServiceStub(await lifetimes.enter_async_context(channel(target)))

        yield started


class ScriptedSearch:
    """A Tavily that does what the test says, and notes who asked and who left."""

    def __init__(self, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        self._answer = answer
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.arrived = asyncio.Event()
        self.left = asyncio.Event()
        self.connections: set[Any] = set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.connections.add(request.transport)
        if request.method == "HEAD":
            return web.Response()
        self.headers.append(dict(request.headers))
        self.asked.append(dict(request.query) if request.method == "GET" else await request.json())
        self.arrived.set()
        try:
            return await self._answer(request)
        except asyncio.CancelledError:
            self.left.set()
            raise


@asynccontextmanager
async def scripted(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[tuple[ScriptedSearch, str]]:
    script = ScriptedSearch(answer)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", script.handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield script, f"http://127.0.0.1:{server.port}"
    finally:
        await server.close()


def answering(body: Any, status: int = 200) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, content_type="application/json")

    return answer


async def never(_request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets that event")


def page(number: int, **more: Any) -> dict[str, Any]:
    return {"url": f"https://example.org/{number}", "title": f"Page {number}", "content": "Text.", "score": 0.9, **more}


def slot(name: str, value: str, text: str = "") -> router_pb2.Slot:
    return router_pb2.Slot(name=name, value=value, text=text)


def asking(query: str = "제주도 3박4일 가족여행", **more: Any) -> retrieval_pb2.RetrieveRequest:
    usual: dict[str, Any] = {
        "language": "ko",
        "slots": [slot("destination", "jeju", "제주도"), slot("party", "family", "가족")],
    }
    return retrieval_pb2.RetrieveRequest(query=query, **{**usual, **more})


async def events(
    stub: retrieval_pb2_grpc.RetrievalServiceStub, request: retrieval_pb2.RetrieveRequest, timeout: float = 10.0
) -> list[retrieval_pb2.RetrieveResponse]:
    return [event async for event in stub.Retrieve(request, timeout=timeout)]


def kinds(found: Sequence[retrieval_pb2.RetrieveResponse]) -> list[str]:
    """The events by name; batches by their origin."""
    names = {retrieval_pb2.ORIGIN_INTERNAL: "internal", retrieval_pb2.ORIGIN_WEB: "web"}
    return [names.get(event.records.origin) or str(event.WhichOneof("event")) for event in found]


def notices(found: Sequence[retrieval_pb2.RetrieveResponse]) -> list[tuple[str, str]]:
    names = ledger_pb2.DegradationReason
    return [
        (event.notice.stage, names.Name(event.notice.reason).removeprefix("DEGRADATION_REASON_"))
        for event in found
        if event.HasField("notice")
    ]


def records(found: Sequence[retrieval_pb2.RetrieveResponse], origin: int) -> list[retrieval_pb2.Record]:
    return [record for event in found if event.records.origin == origin for record in event.records.records]


async def test_internal_records_come_for_every_section_in_the_language_asked_for(start: Start) -> None:
    found = await events(await start(), asking())
    assert kinds(found) == ["plan", "internal", "summary"]
    assert (found[0].plan.internal_rung, found[0].plan.web_rung) == ("hybrid", "none")
    got = records(found, retrieval_pb2.ORIGIN_INTERNAL)
    assert {record.section for record in got} == {"lodging", "food", "sights"}
    assert len(got) == 12
    assert {record.place.city for record in got} == {"jeju"}
    for record in got:
        assert record.attributes["child_friendly"] is True
        assert any("가" <= letter <= "힣" for letter in record.name)
        assert record.facts
        assert "\n" not in record.facts
        assert record.place.latitude
        assert record.score > 0
    summary = found[-1].summary
    assert (summary.internal_records, summary.web_records, list(summary.relaxed_filters)) == (12, 0, [])
    assert [stage.name for stage in summary.stages] == ["retrieval.internal"]
    assert summary.stages[0].spent.ToNanoseconds() > 0


async def test_the_router_s_embedding_is_used_when_it_is_of_the_same_model(start: Start) -> None:
    encoder = LetterEncoder()
    stub = await start(encoder=encoder)
    embedding = pack(encoder.encode(["바다"])[0])
    await events(stub, asking(embedding=embedding, embedding_model=MODEL))
    assert encoder.embedded == 0
    await events(stub, asking(embedding=embedding, embedding_model="other@1"))
    await events(stub, asking(embedding=embedding[:-4], embedding_model=MODEL))
    await events(stub, asking(embedding=pack(np.full(DIMENSIONS, np.nan, np.float32)), embedding_model=MODEL))
    await events(stub, asking())
    assert encoder.embedded == 4


async def test_a_query_that_cannot_be_embedded_is_searched_by_its_words(start: Start) -> None:
    encoder = LetterEncoder(HeadwayError(Reason.OVERLOADED, "too many texts wait"))
    found = await events(await start(encoder=encoder), asking())
    assert len(records(found, retrieval_pb2.ORIGIN_INTERNAL)) == 12
    assert notices(found) == [("retrieval.internal", "UPSTREAM_UNAVAILABLE")]
    assert found[-1].summary.stages[0].rung == "lexical"


async def test_sections_and_numbers_are_those_asked_for(start: Start) -> None:
    stub = await start(on_loop=True)
    found = await events(stub, asking(sections=["food"], per_section=7, language="en-GB"))
    got = records(found, retrieval_pb2.ORIGIN_INTERNAL)
    assert {record.section for record in got} == {"food"}
    assert len(got) == 7
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await events(stub, asking(sections=["food", "flights"]))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(caught.value) == "INVALID_REQUEST"
    assert "sections[1]" in (caught.value.details() or "")


async def test_a_place_that_the_catalogue_does_not_have_gives_a_notice_and_no_other_place(start: Start) -> None:
    found = await events(
        await start(), asking("레이캬비크 여행", slots=[slot("destination", "reykjavik", "레이캬비크")])
    )
    assert records(found, retrieval_pb2.ORIGIN_INTERNAL) == []
    assert kinds(found) == ["plan", "internal", "notice", "summary"]
    assert notices(found) == [("retrieval.internal", "FEW_RECORDS")]
    assert found[2].notice.detail == "The catalogue has no records for Reykjavik."


async def test_the_web_comes_after_the_catalogue_and_is_accounted_for(start: Start) -> None:
    simulators = pytest.importorskip("simulators.server")
    async with simulators.running(scenario="zero") as simulation, tavily("", simulation.web_url) as adapter:
        stub = await start(adapter)
        found = await events(stub, asking())
        await events(stub, asking())
    assert kinds(found) == ["plan", "internal", "web", "summary"]
    plan = found[0].plan
    assert (plan.web_rung, plan.web_allowance.ToSeconds()) == ("tavily", 5)
    got = records(found, retrieval_pb2.ORIGIN_WEB)
    assert len(got) == found[-1].summary.web_records == 5
    for record in got:
        assert record.record_id == record.url
        assert record.url.startswith("https://")
        assert record.kind == "web"
        assert record.facts.startswith(record.attributes["site"])
    assert {"food", "sights", ""} <= {record.section for record in got}
    stages = {stage.name: stage for stage in found[-1].summary.stages}
    attempt = stages["retrieval.web"].attempts[0]
    assert (attempt.backend, attempt.outcome) == ("tavily", "ok")


async def test_brave_is_spoken_as_well(start: Start) -> None:
    simulators = pytest.importorskip("simulators.server")
    async with (
        simulators.running(scenario="zero") as simulation,
        brave("key", f"{simulation.web_url}/brave") as adapter,
    ):
        found = await events(await start(adapter), asking())
    assert len(records(found, retrieval_pb2.ORIGIN_WEB)) == 5
    assert found[0].plan.web_rung == "brave"


async def test_the_key_and_the_query_are_sent_and_the_connection_is_used_again(start: Start) -> None:
    async with scripted(answering({"results": [page(1)]})) as (script, url), tavily("secret", url) as adapter:
        stub = await start(adapter)
        for _ in range(3):
            await events(stub, asking())
    assert script.headers[0]["Authorization"] == "Bearer secret"
    assert script.asked[0]["query"] == "제주도 3박4일 가족여행"
    assert script.asked[0]["max_results"] == 5
    assert len(script.connections) <= 2


async def test_results_are_made_harmless_and_told_apart(start: Start) -> None:
    pages = [
        page(1, title="<script>x</script>Hotels\nin Jeju", content="</records>\u0000 " + "long " * 500),
        page(1),
        page(2, url="javascript:alert(1)"),
        page(3, url="https://user:pass@example.org/"),
        page(4, title=""),
        "nonsense",
        page(5, score="high"),
    ]
    async with scripted(answering({"results": pages})) as (_, url), tavily("", url) as adapter:
        found = await events(await start(adapter), asking())
    got = records(found, retrieval_pb2.ORIGIN_WEB)
    assert [record.url for record in got] == ["https://example.org/1", "https://example.org/5"]
    assert (got[0].name, got[0].section) == ("x Hotels in Jeju", "lodging")
    assert "<" not in got[0].description
    assert len(got[0].description) <= 300


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (401, {"detail": "no"}, "NOT_AUTHORISED"),
        (403, {"detail": "no"}, "NOT_AUTHORISED"),
        (429, {"detail": "slow down"}, "RATE_LIMITED"),
        (432, {"detail": "plan"}, "RATE_LIMITED"),
        (500, "oops", "UPSTREAM_UNAVAILABLE"),
        (302, "elsewhere", "UPSTREAM_UNAVAILABLE"),
        (200, "not json", "INVALID_OUTPUT"),
        (200, [], "INVALID_OUTPUT"),
        (200, {"results": 7}, "INVALID_OUTPUT"),
        (200, "x" * (2 << 20), "INVALID_OUTPUT"),
    ],
)
async def test_a_web_search_that_fails_is_a_notice_and_the_answer_stands(
    start: Start, status: int, body: Any, reason: str
) -> None:
    async with scripted(answering(body, status)) as (_, url), tavily("k", url) as adapter:
        found = await events(await start(adapter), asking())
    assert kinds(found) == ["plan", "internal", "notice", "summary"]
    assert notices(found) == [("retrieval.web", reason)]
    assert found[-1].summary.internal_records == 12


async def test_a_web_search_that_nobody_answers_is_a_notice(start: Start) -> None:
    async with tavily("k", "http://127.0.0.1:1") as adapter:
        found = await events(await start(adapter), asking())
    assert notices(found) == [("retrieval.web", "UPSTREAM_UNAVAILABLE")]


async def test_a_web_search_that_is_late_ends_with_its_allowance(start: Start) -> None:
    async with scripted(never) as (script, url), tavily("k", url) as adapter:
        stub = await start(adapter)
        before = time.monotonic()
        found = await events(stub, asking(web_within=duration(0.2)))
        spent = time.monotonic() - before
        await asyncio.wait_for(script.left.wait(), 5)
    assert notices(found) == [("retrieval.web", "OUT_OF_TIME")]
    assert 0.15 < spent < 5
    assert found[-1].summary.stages[1].attempts[0].outcome == "timeout"


async def test_a_late_web_search_does_not_cost_the_deadline(start: Start) -> None:
    async with scripted(never) as (_, url), tavily("k", url) as adapter:
        found = await events(await start(adapter), asking(), timeout=0.6)
    assert kinds(found) == ["plan", "internal", "notice", "summary"]


async def test_internal_records_do_not_wait_for_the_web(start: Start) -> None:
    go_on = asyncio.Event()

    async def later(_request: web.Request) -> web.StreamResponse:
        await go_on.wait()
        return web.json_response({"results": [page(1)]})

    async with scripted(later) as (_, url), tavily("k", url) as adapter:
        call = (await start(adapter)).Retrieve(asking(), timeout=10)
        seen = []
        async for event in call:
            seen.append(event)
            if event.records.origin == retrieval_pb2.ORIGIN_INTERNAL:
                go_on.set()
    assert kinds(seen) == ["plan", "internal", "web", "summary"]


async def test_the_caller_may_leave_the_web_out(start: Start) -> None:
    async with scripted(never) as (script, url), tavily("k", url) as adapter:
        found = await events(await start(adapter), asking(internal_only=True))
    assert kinds(found) == ["plan", "internal", "summary"]
    assert script.asked == []


async def test_with_too_little_time_the_web_is_not_asked_and_that_is_said(start: Start) -> None:
    async with scripted(never) as (script, url), tavily("k", url) as adapter:
        found = await events(await start(adapter), asking(web_within=duration(0.01)))
    assert notices(found) == [("retrieval.web", "OUT_OF_TIME")]
    assert script.asked == []


async def test_when_the_caller_leaves_the_web_request_is_closed_and_nothing_is_left(start: Start) -> None:
    async with scripted(never) as (script, url), tavily("k", url) as adapter:
        stub = await start(adapter)
        before = await task_names()
        call = stub.Retrieve(asking(), timeout=30)
        async for event in call:
            if event.records.origin == retrieval_pb2.ORIGIN_INTERNAL:
                break
        await asyncio.wait_for(script.arrived.wait(), 5)
        call.cancel()
        await asyncio.wait_for(script.left.wait(), 5)

        async def nothing_left() -> bool:
            return "retrieval.web" not in await task_names(ignore=before)

        await eventually(nothing_left, what="the web search's task to end")
        found = await events(stub, asking(internal_only=True))
        assert len(records(found, retrieval_pb2.ORIGIN_INTERNAL)) == 12


async def test_many_at_once_are_all_answered(start: Start) -> None:
    async with scripted(answering({"results": [page(1)]})) as (_, url), tavily("k", url) as adapter:
        stub = await start(adapter)
        answers = await asyncio.gather(*(events(stub, asking()) for _ in range(24)))
    assert all(kinds(found) == ["plan", "internal", "web", "summary"] for found in answers)


async def test_a_catalogue_without_records_still_answers(start: Start, travel: Domain) -> None:
    empty = CatalogueSearch(build(LetterEncoder()), travel)
    found = await events(await start(catalogue=empty), asking(slots=[]))
    assert records(found, retrieval_pb2.ORIGIN_INTERNAL) == []
    assert set(notices(found)) == {("retrieval.internal", "FEW_RECORDS")}


async def test_relaxed_conditions_are_named_in_the_summary(start: Start, travel: Domain) -> None:
    few = [
        Record(id="a", kind="food", names={"en": "A"}, city="jeju", source="t", child_friendly=True),
        Record(id="b", kind="food", names={"en": "B"}, city="jeju", source="t"),
    ]
    catalogue = CatalogueSearch(build(LetterEncoder(), own=few), travel)
    found = await events(await start(catalogue=catalogue), asking(sections=["food"], per_section=4))
    assert [record.record_id for record in records(found, retrieval_pb2.ORIGIN_INTERNAL)] == ["a", "b"]
    assert list(found[-1].summary.relaxed_filters) == ["child_friendly"]
    assert [event.notice.detail for event in found if event.HasField("notice")] == [
        "Of the places to eat only 1 is known to suit children; others follow of which that is not known."
    ]


async def test_a_budget_that_nothing_fits_is_said_and_the_cheaper_come_first(start: Start) -> None:
    limit = slot("budget", "100000", "under 100000 won")
    limit.number, limit.unit, limit.relation = 100_000, "KRW", router_pb2.SLOT_RELATION_AT_MOST
    slots = [slot("destination", "busan", "Busan"), limit]
    asked = asking("hotels in Busan under 100000 won", intent="lodging_search", sections=["lodging"], slots=slots)
    asked.language, asked.per_section = "en", 24
    found = await events(await start(), asked)
    prices = [record.attributes["price_level"] for record in records(found, retrieval_pb2.ORIGIN_INTERNAL)]
    assert prices == sorted(prices)
    assert prices[0] == 2
    assert prices[-1] > 2
    assert [event.notice.detail for event in found if event.HasField("notice")] == [
        "Of the places to stay only 2 fit the budget; dearer ones follow, the cheapest first."
    ]


async def test_without_a_destination_one_city_is_kept_to_and_that_is_said(start: Start, travel: Domain) -> None:
    own = own_records(own_files(travel.root))
    catalogue = CatalogueSearch(build(LetterEncoder(), own=own), travel, regions(travel.root))
    slots = [slot("nights", "3", "3박4일"), slot("party", "family", "가족")]
    found = await events(await start(catalogue=catalogue), asking("3박4일 가족여행", slots=slots))
    (city,) = {record.place.city for record in records(found, retrieval_pb2.ORIGIN_INTERNAL)}
    assert notices(found) == [("retrieval.internal", "ASSUMED")]
    assert city.replace("-", " ").title() in found[2].notice.detail


async def test_pages_for_other_sections_are_not_sent(start: Start) -> None:
    pages = [page(1, title="Where to eat in Jeju"), page(2, title="The best hotels of Jeju"), page(3)]
    async with scripted(answering({"results": pages})) as (_, url), tavily("", url) as adapter:
        narrow = await events(await start(adapter), asking(sections=["lodging"]))
        wide = await events(await start(adapter), asking())
    got = records(narrow, retrieval_pb2.ORIGIN_WEB)
    assert [(record.section, record.name) for record in got] == [("lodging", "The best hotels of Jeju")]
    assert narrow[-1].summary.web_records == 1
    assert [record.section for record in records(wide, retrieval_pb2.ORIGIN_WEB)] == ["food", "lodging", ""]
