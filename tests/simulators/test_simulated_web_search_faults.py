from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from simulated_asks import scenario_of


@pytest.fixture
async def http():
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        yield session


async def searched(http: aiohttp.ClientSession, url: str, simulate: str, **options: Any) -> tuple[int, Any, Any]:
    async with http.post(
        f"{url}/search", json={"query": "제주"}, headers={"x-simulate": simulate}, **options
    ) as response:
        return response.status, await response.json(), response.headers


@pytest.mark.parametrize(
    ("simulate", "status"),
    [
        ("error;status=502", 502),
        ("overloaded", 503),
        ("unauthorized", 401),
        ("rate_limited", 429),
        ("surprise", 400),
        ("stall;minutes=1", 400),
    ],
)
async def test_an_error_status_has_the_provider_s_shape(zero, http, simulate, status):
    found, body, _ = await searched(http, zero.web_url, simulate)
    assert found == status
    assert body["detail"]["error"]
    assert zero.requests[-1].outcome == "refused"
    async with http.get(
        f"{zero.web_url}/brave/res/v1/web/search", params={"q": "Jeju"}, headers={"x-simulate": simulate}
    ) as response:
        assert response.status == status
        assert (await response.json())["error"]["detail"]


async def test_retry_after_stands_on_a_429(zero, http):
    _, _, headers = await searched(http, zero.web_url, "rate_limited;retry_after=3")
    assert headers["retry-after"] == "3"


@pytest.mark.parametrize("simulate", ["reset", "close"])
async def test_a_broken_connection_is_one(zero, http, simulate):
    with pytest.raises(aiohttp.ClientConnectionError):
        await searched(http, zero.web_url, simulate)
    assert zero.requests[-1].outcome == "faulted"


@pytest.mark.parametrize("simulate", ["never_answers", "slow_headers;seconds=60"])
async def test_who_gives_up_is_seen_to(zero, http, simulate):
    with pytest.raises(TimeoutError):
        await searched(http, zero.web_url, simulate, timeout=aiohttp.ClientTimeout(total=0.2))
    await zero.until(lambda requests: requests[-1].ended is not None)
    assert zero.requests[-1].outcome == "disconnected"


async def test_half_a_body_cannot_be_parsed(zero, http):
    with pytest.raises(ValueError, match=r".+"):
        await searched(http, zero.web_url, "malformed_body")


async def test_nothing_may_be_found_or_something_that_wants_to_be_obeyed(zero, http):
    assert (await searched(http, zero.web_url, "no_results"))[1]["results"] == []
    assert "</records>" in (await searched(http, zero.web_url, "hostile_results"))[1]["results"][0]["content"]


async def test_keys_are_checked_where_the_scenario_has_some(start, http):
    strict = await start(scenario_of('[web]\nkeys = ["tvly-1"]'))
    for key, status in (("tvly-1", 200), ("tvly-2", 401)):
        async with http.post(
            f"{strict.web_url}/search", json={"query": "x"}, headers={"authorization": f"Bearer {key}"}
        ) as response:
            assert response.status == status
        async with http.get(
            f"{strict.web_url}/brave/res/v1/web/search", params={"q": "x"}, headers={"x-subscription-token": key}
        ) as response:
            assert (response.status == 200) == (status == 200)
    assert all("tvly" not in str(entry.headers) for entry in strict.requests)


async def test_the_default_scenario_s_searches_take_as_long_as_they_should(start, http):
    world = (await start("default", seed=4)).world
    drawn = sorted(world.scenario.web.latency.draw(world.draws.of("t", str(nth).encode())) for nth in range(4000))
    assert drawn[2000] == pytest.approx(0.8, rel=0.06)
    assert drawn[3800] == pytest.approx(2.2, rel=0.08)


async def test_an_outage_begins_and_ends(start, http):
    world = await start("outage")
    ask = {"model": "claude-sonnet-5", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}

    async def status() -> int:
        headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
        async with http.post(f"{world.anthropic_url}/v1/messages", json=ask, headers=headers) as response:
            return response.status

    seen = [await status()]
    for seconds in (10, 55):
        async with http.post(f"{world.url}/control/skip", params={"seconds": str(seconds)}) as response:
            assert response.status == 204
        seen.append(await status())
    world.skip(10)
    seen.append(await status())
    assert seen == [200, 503, 503, 200]


async def test_many_searches_at_once_do_not_wait_for_each_other(start, http):
    slow = await start(scenario_of("[web]\nlatency = 0.2"))

    async def one(nth: int) -> int:
        async with http.post(f"{slow.web_url}/search", json={"query": f"q{nth}"}) as response:
            return response.status

    async with asyncio.timeout(2):
        assert set(await asyncio.gather(*(one(nth) for nth in range(50)))) == {200}
