"""Decides how the web search is spoken, in the shapes of Tavily and of Brave, and what it finds.

What it finds is made from the query alone, on hosts that cannot exist. Refuses to know the catalogue and the
models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any
from zlib import crc32

import orjson
from aiohttp import web

from simulators.exchange import World
from simulators.script import sleep_until

MOST_RESULTS = 20

_FINDS = {
    "ko": (
        (
            "{query}: 현지인이 고른 코스",
            "{query} 일정에 넣기 좋은 곳을 동선 순서로 정리했다. 오전에는 바다 쪽, 오후에는 시장과 카페가 무난하다.",
        ),
        (
            "{query} 예산과 교통 정리",
            "대중교통과 렌터카를 비교하면 두 명 이상일 때 렌터카가 편하다. "
            "주말 숙박은 평일보다 비싸므로 미리 예약하는 편이 낫다.",
        ),
        (
            "{query}에서 아이와 가 볼 만한 곳",
            "실내 체험관과 넓은 잔디밭이 있는 공원을 묶으면 하루가 무리 없이 지나간다. 비가 오면 박물관이 좋다.",
        ),
        (
            "{query} 맛집 후기 모음",
            "점심시간에는 줄이 길어 열한 시 전에 도착하는 것을 권한다. 해산물과 국수가 특히 평이 좋다.",
        ),
        (
            "이번 달 {query} 행사 안내",
            "주말마다 야간 개장과 작은 공연이 열린다. 입장 시간이 바뀔 수 있으니 방문 전에 확인해야 한다.",
        ),
    ),
    "ja": (
        (
            "{query}：地元の人が選ぶコース",
            "{query}の日程に入れやすい場所を回る順にまとめた。午前は海側、午後は市場とカフェが無難だ。",
        ),
        ("{query}の予算と交通", "二人以上ならレンタカーが便利。週末の宿は平日より高いので早めの予約がよい。"),
        ("{query}で子どもと行きたい場所", "屋内の体験施設と広い公園を組み合わせると無理がない。雨の日は博物館がよい。"),
        ("{query}の食事の口コミ", "昼は行列が長いので十一時前の到着がおすすめ。海鮮と麺の評判がよい。"),
        ("今月の{query}の催し", "週末は夜間開館と小さな公演がある。入場時間は変わることがある。"),
    ),
    "en": (
        (
            "{query}: a route picked by locals",
            "Places that fit {query}, in an order that avoids doubling "
            "back: the shore in the morning, markets and cafes later.",
        ),
        (
            "{query}: budget and transport",
            "For two or more people a rental car is easier than buses. "
            "Weekend rooms cost more than weekday ones, so book early.",
        ),
        (
            "With children: {query}",
            "An indoor hands-on museum and a park with wide lawns fill "
            "a day without tired legs. On wet days the museum wins.",
        ),
        (
            "Where to eat: {query}",
            "Queues grow at noon, so arrive before eleven. Seafood and noodles get the best reviews.",
        ),
        ("This month: {query}", "Late openings and small concerts on weekends. Hours may change, check before you go."),
    ),
}


async def tavily(request: web.Request, world: World) -> web.StreamResponse:
    """`POST /web/search`: `{query, max_results, include_raw_content}`."""
    raw = await request.read()
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _tavily_error(422, "The request body is not valid JSON.")
    if not isinstance(body, dict) or not isinstance(body.get("query"), str) or not body["query"].strip():
        return _tavily_error(400, "Query is missing.")
    key = request.headers.get("authorization", "").removeprefix("Bearer ") or str(body.get("api_key", ""))
    if world.scenario.web.keys and key not in world.scenario.web.keys:
        return _tavily_error(401, "Unauthorized: missing or invalid API key.")
    most = body.get("max_results", 5)
    most = most if isinstance(most, int) and 0 <= most <= MOST_RESULTS else 5

    def shape(rng: Random, seconds: float) -> dict[str, Any]:
        results = _results(body["query"], most)
        extra = {"raw_content": None}
        return {
            "query": body["query"],
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": [{**result, **extra} for result in results],
            "response_time": round(seconds, 2),
            "request_id": f"{rng.getrandbits(128):032x}",
        }

    return await _search(request, world, "web.tavily", body, shape)


async def brave(request: web.Request, world: World) -> web.StreamResponse:
    """`GET /web/brave/res/v1/web/search?q=&count=`."""
    query = request.query.get("q", "").strip()
    if not query:
        return _brave_error(422, "VALIDATION", "Unable to validate request parameter(s)")
    if world.scenario.web.keys and request.headers.get("x-subscription-token") not in world.scenario.web.keys:
        return _brave_error(422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.")
    asked = request.query.get("count", "20")
    most = min(int(asked), MOST_RESULTS) if asked.isdigit() else MOST_RESULTS

    def shape(rng: Random, seconds: float) -> dict[str, Any]:
        results = [
            {"type": "search_result", "title": each["title"], "url": each["url"], "description": each["content"]}
            for each in _results(query, most)
        ]
        return {
            "type": "search",
            "query": {"original": query, "more_results_available": False},
            "web": {"type": "search", "results": results, "family_friendly": True},
        }

    return await _search(request, world, "web.brave", dict(request.query), shape)


async def _search(
    request: web.Request, world: World, endpoint: str, body: Mapping[str, Any], shape: Any
) -> web.StreamResponse:
    began = asyncio.get_running_loop().time()
    entry = world.journal.open(
        endpoint,
        headers={name.lower(): value for name, value in request.headers.items()},
        new_connection=world.connections.is_new(request),
    )
    world.journal.keep_body(entry, body)
    rng, _ = world.draws.of(endpoint, orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
    seconds = world.scenario.web.latency.draw(rng)
    if rng.random() < world.scenario.web.stall.chance:
        seconds += world.scenario.web.stall.seconds
    if entry.new_connection:
        seconds += world.scenario.connection_setup.draw(rng)
    try:
        await sleep_until(began + seconds)
    except asyncio.CancelledError:
        world.journal.close(entry, "disconnected")
        raise
    entry.status = 200
    world.journal.first_token(entry)
    world.journal.close(entry, "complete")
    return web.Response(body=orjson.dumps(shape(rng, seconds)), content_type="application/json")


def _results(query: str, most: int) -> list[dict[str, Any]]:
    tongue = "ko" if any("가" <= each <= "힣" for each in query) else "en"
    if tongue == "en" and any("ぁ" <= each <= "ヿ" for each in query):
        tongue = "ja"
    finds = _FINDS[tongue]
    start = crc32(query.encode())
    return [
        {
            "title": finds[(start + nth) % len(finds)][0].format(query=query),
            "url": f"https://guide{(start + nth) % 97}.example/{start:08x}/{nth + 1}",
            "content": finds[(start + nth) % len(finds)][1].format(query=query),
            "score": round(0.95 - 0.07 * nth, 4),
        }
        for nth in range(min(most, len(finds)))
    ]


def _tavily_error(status: int, message: str) -> web.Response:
    body = orjson.dumps({"detail": {"error": message}})
    return web.Response(status=status, body=body, content_type="application/json")


def _brave_error(status: int, code: str, detail: str) -> web.Response:
    error = {"code": code, "detail": detail, "status": status}
    body = orjson.dumps({"type": "ErrorResponse", "error": error})
    return web.Response(status=status, body=body, content_type="application/json")
