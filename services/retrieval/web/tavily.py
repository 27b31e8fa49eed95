"""Web search by Tavily, and by anything that speaks its API. Knows only its wire format (POST /search)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from services.retrieval.web.results import WebResult, distinct, result_from
from services.retrieval.web.search import answered, unusable
from services.retrieval.web.session import session, trace_headers

BASE_URL = "https://api.tavily.com"
_MAX_QUERY = 400


class TavilySearch:
    """Searches through an open session; made by ``tavily``."""

    name = "tavily"

    def __init__(self, opened: aiohttp.ClientSession, base_url: str) -> None:
        self._session = opened
        self._url = base_url.rstrip("/") + "/search"

    async def search(self, query: str, *, count: int, timeout: float) -> Sequence[WebResult]:
        """See WebSearch."""
        body = {
            "query": query[:_MAX_QUERY],
            "max_results": min(20, max(1, count)),
            "search_depth": "basic",
            "topic": "general",
            "include_answer": False,
            "include_raw_content": False,
        }
        limit = aiohttp.ClientTimeout(total=timeout)
        call = self._session.post(self._url, json=body, timeout=limit, allow_redirects=False, headers=trace_headers())
        return _results(await answered(self.name, call, timeout), count)


@asynccontextmanager
async def tavily(key: str, base_url: str = BASE_URL) -> AsyncIterator[TavilySearch]:
    """The adapter with a warm session; ``key`` may be empty for a server that asks for none."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with session(base_url, headers) as opened:
        yield TavilySearch(opened, base_url)


def _results(answer: Any, count: int) -> tuple[WebResult, ...]:
    found = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise unusable("tavily", "its answer has no list of results")
    return distinct(
        (
            result_from(each.get("url"), each.get("title"), each.get("content"), each.get("score"), rank)
            for rank, each in enumerate(found)
            if isinstance(each, dict)
        ),
        count,
    )
