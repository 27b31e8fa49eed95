"""Decides how the web search is spoken, in the shapes of Tavily and of Brave, and what it finds.

What it finds is made from the query alone, on hosts that cannot exist. Refuses to know the catalogue and the
models.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from simulators.faults import HEADER, Faults
from simulators.finds import found
from simulators.journal import Entry
from simulators.refusing import retry_after
from simulators.script import Act, Broken, sleep_until
from simulators.visit import visited
from simulators.world import World

MOST_RESULTS = 20


async def tavily(request: web.Request, world: World) -> web.StreamResponse:
    """`POST /web/search`: `{query, max_results}`, the key as a bearer token or as `api_key`."""

    async def answer(entry: Entry) -> web.StreamResponse:
        try:
            body = orjson.loads(await request.read())
        except orjson.JSONDecodeError:
            return _refused(entry, 422, _tavily_error("The request body is not valid JSON."))
        if not isinstance(body, dict) or not isinstance(body.get("query"), str) or not body["query"].strip():
            return _refused(entry, 400, _tavily_error("Query is missing."))
        key = request.headers.get("authorization", "").removeprefix("Bearer ") or str(body.get("api_key", ""))
        if world.scenario.web.keys and key not in world.scenario.web.keys:
            return _refused(entry, 401, _tavily_error("Unauthorized: missing or invalid API key."))
        most = body.get("max_results", 5)
        most = most if isinstance(most, int) and 0 <= most <= MOST_RESULTS else 5
        asked = {key: value for key, value in body.items() if key != "api_key"}
        search = await _searched(request, world, entry, asked, _tavily_error)
        results = [{**each, "raw_content": None} for each in found(body["query"], most, search.faults)]
        return search.answered(
            {
                "query": body["query"],
                "follow_up_questions": None,
                "answer": None,
                "images": [],
                "results": results,
                "response_time": round(search.seconds, 2),
                "request_id": f"{entry.number:032x}",
            }
        )

    return await _visited(request, "web.tavily", world, answer)


async def brave(request: web.Request, world: World) -> web.StreamResponse:
    """`GET /web/brave/res/v1/web/search?q=&count=`, the key in `X-Subscription-Token`."""

    async def answer(entry: Entry) -> web.StreamResponse:
        query = request.query.get("q", "").strip()
        if not query:
            return _refused(entry, 422, _brave_error("Unable to validate request parameter(s)"))
        if world.scenario.web.keys and request.headers.get("x-subscription-token") not in world.scenario.web.keys:
            return _refused(entry, 422, _brave_error("The provided subscription token is invalid."))
        asked = request.query.get("count", "20")
        most = min(int(asked), MOST_RESULTS) if asked.isdecimal() else MOST_RESULTS
        search = await _searched(request, world, entry, dict(request.query), _brave_error)
        results = [
            {"type": "search_result", "title": each["title"], "url": each["url"], "description": each["content"]}
            for each in found(query, most, search.faults)
        ]
        return search.answered(
            {
                "type": "search",
                "query": {"original": query, "more_results_available": False},
                "web": {"type": "search", "results": results, "family_friendly": True},
            }
        )

    return await _visited(request, "web.brave", world, answer)


class _Refusal(Exception):  # noqa: N818 - an outcome of a request, not a mistake of ours
    def __init__(self, response: web.Response) -> None:
        super().__init__(response.status)
        self.response = response


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """A search whose time has passed."""

    seconds: float
    faults: Faults

    def answered(self, value: object) -> web.Response:
        """The response with what was found, broken if it is to be."""
        body = orjson.dumps(value)
        if "malformed_body" in self.faults:
            body = body[: len(body) // 2]
        return web.Response(body=body, content_type="application/json")


async def _visited(
    request: web.Request, endpoint: str, world: World, answer: Callable[[Entry], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    async def guarded(entry: Entry) -> web.StreamResponse:
        try:
            return await answer(entry)
        except _Refusal as refusal:
            entry.status, entry.outcome = refusal.response.status, "refused"
            return refusal.response

    return await visited(request, endpoint, world, guarded)


async def _searched(
    request: web.Request, world: World, entry: Entry, asked: Mapping[str, Any], error: Callable[[str], bytes]
) -> _Search:
    """Let the time of a search pass, and whatever goes wrong in it."""
    began = world.clock()
    world.journal.keep_body(entry, asked)
    rng = world.draws.of(entry.endpoint, orjson.dumps(asked, option=orjson.OPT_SORT_KEYS))
    seconds, setup = world.scenario.web.latency.draw(rng) * world.pace(), world.scenario.connection_setup.draw(rng)
    if rng.random() < world.scenario.web.stall.chance:
        seconds += world.scenario.web.stall.seconds
    try:
        faults = world.chooser.choose(
            request.headers.get(HEADER), endpoint=entry.endpoint, model="", now=world.calendar.now(), rng=rng
        )
    except ValueError as fault:
        raise _Refusal(_response(400, error(f"{HEADER}: {fault}"))) from fault
    entry.simulated = tuple(faults)
    for name in ("slow_headers", "never_answers"):
        seconds += faults[name].number("seconds") if name in faults else 0.0
    await sleep_until(began + seconds + (setup if entry.new_connection else 0.0))
    _fail(faults, error, world.epoch())
    entry.status = 200
    world.journal.first_token(entry)
    return _Search(seconds=seconds, faults=faults)


def _fail(faults: Faults, error: Callable[[str], bytes], epoch: float) -> None:
    if "never_answers" in faults or "close" in faults:
        raise Broken(Act.CLOSE)
    if "reset" in faults:
        raise Broken(Act.RESET)
    if "unauthorized" in faults:
        raise _Refusal(_response(401, error("Unauthorized: missing or invalid API key.")))
    if "rate_limited" in faults:
        fault = faults["rate_limited"]
        headers = retry_after(fault.number("retry_after"), fault.text("form"), epoch)
        message = "Your request has been blocked due to excessive requests."
        raise _Refusal(_response(429, error(message), headers))
    for name, status in (("overloaded", 503), ("error", 0)):
        if name in faults:
            raise _Refusal(_response(status or faults[name].whole("status"), error("Internal Server Error")))


def _refused(entry: Entry, status: int, body: bytes) -> web.Response:
    entry.status, entry.outcome = status, "refused"
    return _response(status, body)


def _response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def _tavily_error(message: str) -> bytes:
    return orjson.dumps({"detail": {"error": message}})


def _brave_error(message: str) -> bytes:
    return orjson.dumps({"type": "ErrorResponse", "error": {"code": "SIMULATED", "detail": message}})
