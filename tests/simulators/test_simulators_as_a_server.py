from __future__ import annotations

import asyncio
import json
import sys
import time
from io import BytesIO
from typing import Any

import aiohttp
import anthropic
import pytest
from simulated_asks import PROMPT, scenario_of

from simulators.cost import measure
from simulators.journal import KEPT_BODIES, Journal
from simulators.server import running

ASK: dict[str, Any] = {
    "model": "claude-sonnet-5",
    "max_tokens": 2000,
    "stream": True,
    "messages": [{"role": "user", "content": PROMPT}],
}
HEADERS = {"x-api-key": "secret-key", "anthropic-version": "2026-10-21"}


async def test_they_stop_at_once_although_streams_are_open():
    async with anthropic.AsyncAnthropic(base_url="http://127.0.0.1:1", api_key="k", max_retries=0) as client:
        async with running(scenario="zero") as simulation:
            client.base_url = simulation.anthropic_url
            stream = await client.messages.create(**ASK, extra_headers={"x-simulate": "stall;tokens=3;seconds=60"})
            await stream.__anext__()
            began = time.monotonic()
        assert time.monotonic() - began < 5
        await stream.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not others


async def test_a_port_that_is_taken_is_an_oserror(zero):
    with pytest.raises(OSError, match="in use"):
        async with running(scenario="zero", port=zero.port):
            pass


async def test_keys_are_not_kept(zero):
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{zero.anthropic_url}/v1/messages", json=ASK, headers=HEADERS) as response:
            await response.read()
        async with http.get(f"{zero.url}/control/requests?bodies=1") as response:
            text = await response.text()
    assert "secret-key" not in text
    assert '"x-api-key":"***"' in text


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'"text"', b""])
@pytest.mark.parametrize("path", ["/anthropic/v1/messages", "/openai/v1/chat/completions", "/openai/v1/responses"])
async def test_what_is_no_request_is_400(zero, path, body):
    headers = {**HEADERS, "authorization": "Bearer k"}
    async with aiohttp.ClientSession() as http, http.post(zero.url + path, data=body, headers=headers) as response:
        assert response.status == 400
        assert (await response.json())["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": "text"},
        {"messages": [3]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": [3]}]},
        {"messages": [{"role": "robot", "content": "x"}]},
        {"messages": [{"role": "user", "content": []}], "system": []},
        {"system": 3},
        {"tools": "none"},
        {"max_tokens": -1},
        {"max_tokens": True},
        {"max_tokens": "many"},
        {"output_config": "json"},
        {"output_config": {"format": {"type": "xml"}}},
        {"diagnostics": 3},
        {"cache_control": "yes"},
        {"stop_sequences": 3},
    ],
)
async def test_an_anthropic_request_of_the_wrong_shape_is_400(zero, wrong):
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{zero.anthropic_url}/v1/messages", json={**ASK, **wrong}, headers=HEADERS) as response:
            assert response.status == 400, await response.text()


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": "text", "input": 3},
        {"messages": [3], "input": [3]},
        {"max_completion_tokens": 0, "max_output_tokens": 0},
        {"response_format": "json", "text": "json"},
        {"response_format": {"type": "json_schema"}, "text": {"format": {"type": "json_schema"}}},
        {"stream_options": 3},
        {"prompt_cache_options": 3},
        {"prompt_cache_options": {"mode": "magic"}},
        {"model": 3},
    ],
)
@pytest.mark.parametrize("path", ["chat/completions", "responses"])
async def test_an_openai_request_of_the_wrong_shape_is_400(zero, wrong, path):
    ask = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "x"}], "input": "x", **wrong}
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{zero.openai_url}/{path}", json=ask, headers={"authorization": "Bearer k"}) as response:
            assert response.status == 400, await response.text()


async def test_a_body_beyond_the_bound_is_413(zero):
    ask = {**ASK, "messages": [{"role": "user", "content": "x" * 9_000_000}]}
    huge = BytesIO(json.dumps(ask).encode())
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{zero.anthropic_url}/v1/messages", data=huge, headers=HEADERS) as response:
            assert response.status == 413
            assert (await response.json())["error"]["type"] == "request_too_large"


async def test_they_cost_little_themselves(zero):
    """A generous bound on a hundred answers of some 130 events each, client and server together; it is far less."""
    async with aiohttp.ClientSession() as http:

        async def one() -> int:
            async with http.post(f"{zero.anthropic_url}/v1/messages", json=ASK, headers=HEADERS) as response:
                return (await response.read()).count(b"event: content_block_delta")

        await one()
        began = time.process_time()
        events = [await one() for _ in range(100)]
        spent = time.process_time() - began
    assert min(events) > 60
    assert spent / 100 < 0.02


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the CPU time of a process from /proc")
async def test_their_cost_can_be_measured_apart_from_the_callers(zero):
    measured = await measure("zero")
    assert measured["events_per_answer"] > 60
    assert 0 < measured["cpu_ms_per_answer"] < 10


async def test_tokens_are_paced_by_a_schedule_that_does_not_drift(start):
    paced = await start(scenario_of("[tiers.large]\nper_token = 0.005"))
    async with aiohttp.ClientSession() as http:
        began = time.monotonic()
        async with http.post(f"{paced.anthropic_url}/v1/messages", json=ASK, headers=HEADERS) as response:
            mark = b"event: content_block_delta"
            arrivals = [time.monotonic() - began async for line in response.content if line.startswith(mark)]
    expected = 0.005 * (len(arrivals) - 1)
    assert expected <= arrivals[-1] < expected + 0.3
    assert arrivals[len(arrivals) // 2] >= 0.005 * (len(arrivals) // 2) - 0.002


async def test_the_journal_is_bounded():
    journal = Journal(clock=lambda: 0.0)
    for nth in range(3_000):
        entry = journal.open("e", headers={}, new_connection=False)
        journal.keep_body(entry, nth)
        journal.close(entry, "complete")
    assert len(journal.entries) == 2_000
    assert sum(entry.body is not None for entry in journal.entries) == KEPT_BODIES
    assert journal.outcomes == {"e complete": 3_000}


async def test_waiting_for_what_never_becomes_true_is_a_timeout(zero):
    with pytest.raises(TimeoutError):
        await zero.until(lambda requests: bool(requests), within=0.05)
