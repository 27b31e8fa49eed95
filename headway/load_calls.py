"""Calls of RecommendationService for a load run: which queries, and what is kept of each answer.

An edge: knows the public service's messages and nothing of when calls are made.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import grpc
from google.protobuf.json_format import Parse, ParseError

from headway.deadline import Clock
from headway.errors import reason_of
from headway.load import Answer
from headway.v1 import generator_pb2, item_pb2, ledger_pb2, recommendation_pb2, recommendation_pb2_grpc

Request = recommendation_pb2.RecommendRequest
MOST_QUERIES = 100_000

BUILT_IN = (
    "제주도 3박4일 가족여행",
    "부산 2박3일 커플 여행, 바다가 보이는 숙소",
    "강릉 당일치기 혼자 여행",
    "경주 역사 유적 1박2일 아이와 함께",
    "서울 궁궐과 한옥마을 하루 코스",
    "제주 동쪽 맛집이랑 카페 추천해줘",
    "오사카 3박4일 먹방 여행, 1인당 80만원 이하",
    "교토 단풍 명소 2박3일 부모님과",
    "도쿄 4박5일 아이 둘 가족여행, 디즈니랜드 말고",
    "후쿠오카 온천 1박2일 커플",
    "비 오는 날 제주 실내 관광지",
    "파리 5박6일 신혼여행 미술관 위주",
    "3-day Tokyo trip with kids",
    "weekend in Kyoto for two, quiet temples and gardens",
    "4-day London trip, museums, no nightlife",
    "Jeju hiking and beaches, 3 nights, family of four",
    "cheap food and street markets in Osaka, 2 days",
    "romantic Paris long weekend, hotels near the river",
    "New York first time, 5 days, under $1500",
    "Busan seafood and sea views, 2 nights",
    "Seoul palaces and night markets in autumn",
    "Fukuoka ramen tour, one day, travelling alone",
    "Gyeongju with elderly parents, no long walks",
    "rainy day ideas in London with a toddler",
)
"""Asked when no file of queries is given; for the domain that ships."""


class QueriesError(ValueError):
    """A file that holds no usable queries; the message says which line and why."""


def built_in() -> list[Request]:
    """The built-in queries as requests."""
    return [Request(query=text) for text in BUILT_IN]


def read_queries(path: Path) -> list[Request]:
    """Requests from a file: a query on each line, or a RecommendRequest as JSON where a line begins with a brace. Empty
    lines and those that begin with # are passed over. Raises QueriesError and OSError.
    """
    requests: list[Request] = []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as fault:
        raise QueriesError(f"{path} is not UTF-8 text: {fault}") from fault
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            requests.append(Parse(text, Request()) if text.startswith("{") else Request(query=text))
        except ParseError as fault:
            raise QueriesError(f"{path} line {number} is no RecommendRequest: {fault}") from fault
        if len(requests) > MOST_QUERIES:
            raise QueriesError(f"{path} holds more than {MOST_QUERIES} queries")
    if not requests:
        raise QueriesError(f"{path} holds no query")
    return requests


def shuffled(requests: Sequence[Request], rng: Random) -> Iterator[Request]:
    """All requests in random order, then again in another one, without end: each is asked equally often."""
    while True:
        yield from rng.sample(requests, len(requests))


class RecommendCalls:
    """A ``headway.load.Call`` that asks the next of ``requests`` over ``channel``.

    ``deadline`` is the gRPC timeout of each call in seconds, counted from when it is sent.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        requests: Iterator[Request],
        *,
        deadline: float,
        clock: Clock = time.monotonic,
    ) -> None:
        self._stub = recommendation_pb2_grpc.RecommendationServiceStub(channel)
        self._requests = requests
        self._deadline = deadline
        self._clock = clock

    async def __call__(self, number: int) -> Answer:
        return await self.ask(next(self._requests))

    async def ask(self, request: Request) -> Answer:
        """Asks once and reads the answer to its end."""
        gathered = _Gathered()
        call = self._stub.Recommend(request, timeout=self._deadline)
        try:
            async for event in call:
                gathered.take(event, self._clock)
        except grpc.aio.AioRpcError as error:
            return gathered.answer(error=reason_of(error) or error.code().name)
        except asyncio.CancelledError:
            # gRPC raises the same when the other side ended the call.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return gathered.answer(error="CANCELLED")
        finally:
            call.cancel()
        return gathered.answer(error="" if gathered.finish else "NO_SUMMARY")


class _Gathered:
    """What is kept of one answer while it comes in."""

    def __init__(self) -> None:
        self.finish = ""
        self._first_item_at: float | None = None
        self._tiers: Counter[str] = Counter()
        self._degradations: Counter[str] = Counter()

    def take(self, event: recommendation_pb2.RecommendResponse, clock: Clock) -> None:
        kind = event.WhichOneof("event")
        if kind == "item":
            if self._first_item_at is None:
                self._first_item_at = clock()
            self._tiers[_word(item_pb2.Tier, event.item.tier)] += 1
        elif kind == "notice":
            reason = _word(ledger_pb2.DegradationReason, event.notice.reason)
            self._degradations[f"{event.notice.stage}: {reason}"] += 1
        elif kind == "summary":
            self.finish = _word(generator_pb2.FinishReason, event.summary.finish_reason)

    def answer(self, *, error: str) -> Answer:
        return Answer(
            first_item_at=self._first_item_at,
            items=self._tiers.total(),
            finish=self.finish,
            error=error,
            degradations=self._degradations,
            tiers=self._tiers,
        )


def _word(enum: Any, number: int) -> str:
    """An enum value as a word; the number when a newer peer sent it."""
    if number not in enum.values():
        return str(number)
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return str(enum.Name(number)).removeprefix(prefix).lower()
