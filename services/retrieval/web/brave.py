"""Web search by Brave. Knows only its wire format (GET /res/v1/web/search)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from services.retrieval.web.results import WebResult, distinct, result_from
from services.retrieval.web.search import answered, unusable
from services.retrieval.web.session import session, trace_headers

BASE_URL = "https://api.search.brave.com"
# The API refuses longer queries.
_MAX_QUERY = 400
_MAX_WORDS = 50


class BraveSearch:
    """Searches through an open session; made by ``brave``."""

    name = "brave"

    def __init__(self, opened: aiohttp.ClientSession, base_url: str) -> None:
        self._session = opened
        self._url = base_url.rstrip("/") + "/res/v1/web/search"

    async def search(self, query: str, *, count: int, timeout: float) -> Sequence[WebResult]:
        """See WebSearch."""
        text = " ".join(query[:_MAX_QUERY].split()[:_MAX_WORDS])
        parameters = {"q": text, "count": str(min(20, max(1, count))), "text_decorations": "false"}
        limit = aiohttp.ClientTimeout(total=timeout)
        call = self._session.get(
            self._url, params=parameters, timeout=limit, allow_redirects=False, headers=trace_headers()
        )
        return _results(await answered(self.name, call, timeout), count)


@asynccontextmanager
async def brave(key: str, base_url: str = BASE_URL) -> AsyncIterator[BraveSearch]:
    """The adapter with a warm session."""
    headers = {"X-Subscription-Token": key, "Accept": "application/json"}
    async with session(base_url, headers) as opened:
        yield BraveSearch(opened, base_url)


def _results(answer: Any, count: int) -> tuple[WebResult, ...]:
    if not isinstance(answer, dict):
        raise unusable("brave", "its answer is not an object")
    pages = answer.get("web")
    # A query without results has no "web" at all.
    found = pages.get("results", []) if isinstance(pages, dict) else []
    if not isinstance(found, list):
        raise unusable("brave", "its answer has no list of results")
    return distinct(
        (
            result_from(each.get("url"), each.get("title"), each.get("description"), None, rank)
            for rank, each in enumerate(found)
            if isinstance(each, dict)
        ),
        count,
    )
