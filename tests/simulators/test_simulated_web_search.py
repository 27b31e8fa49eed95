from __future__ import annotations

import aiohttp
import pytest


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


async def test_tavily_s_shape_is_spoken_in_the_query_s_language(zero, http):
    async with http.post(f"{zero.web_url}/search", json={"query": "제주 가족여행", "max_results": 3}) as response:
        answer = await response.json()
    assert answer["query"] == "제주 가족여행"
    assert len(answer["results"]) == 3
    assert all({"title", "url", "content", "score"} <= set(result) for result in answer["results"])
    assert all("제주 가족여행" in result["title"] for result in answer["results"])
    assert len({result["url"] for result in answer["results"]}) == 3


async def test_brave_s_shape_is_spoken_too(zero, http):
    async with http.get(
        f"{zero.web_url}/brave/res/v1/web/search", params={"q": "Tokyo with kids", "count": 2}
    ) as response:
        answer = await response.json()
    results = answer["web"]["results"]
    assert len(results) == 2
    assert all({"title", "url", "description"} <= set(result) for result in results)


async def test_the_same_query_finds_the_same(zero, http):
    async def found() -> list[str]:
        async with http.post(f"{zero.web_url}/search", json={"query": "Kyoto"}) as response:
            return [result["url"] for result in (await response.json())["results"]]

    assert await found() == await found()


@pytest.mark.parametrize("body", [{}, {"query": ""}, {"query": 3}, []])
async def test_a_search_for_nothing_is_refused(zero, http, body):
    async with http.post(f"{zero.web_url}/search", json=body) as response:
        assert response.status == 400
        assert "Query" in (await response.json())["detail"]["error"]


async def test_what_was_asked_can_be_looked_up_and_reset_over_http(zero, http):
    async with http.post(f"{zero.web_url}/search", json={"query": "Busan"}) as response:
        await response.read()
    async with http.get(f"{zero.url}/control/requests", params={"bodies": "1"}) as response:
        shown = await response.json()
    assert shown["requests"][0]["endpoint"] == "web.tavily"
    assert shown["requests"][0]["body"] == {"query": "Busan"}
    assert shown["outcomes"] == {"web.tavily complete": 1}
    async with http.delete(f"{zero.url}/control/requests") as response:
        assert response.status == 204
    assert zero.requests == []
