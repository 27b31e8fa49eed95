"""A generator whose model writes what is no JSON: over a real provider's wire, to items over real gRPC."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from headway.v1 import generator_pb2
from tests.wire.generator_parts import generate, generator, items, outcomes, summary

SETTINGS = {"openai_small_model": "local-small", "openai_large_model": "-"}
FIRST = {"sources": ["r1"], "title": "성산일출봉", "body": "해가 뜨는 분화구", "reason": "걷기 좋다"}
SECOND = {"sources": ["r2"], "title": "섭지코지", "body": "바닷가 언덕", "reason": "바람이 좋다"}
THIRD = {"sources": ["r3"], "title": "한라산", "body": "높은 산", "reason": "숲이 깊다"}


@asynccontextmanager
async def model(text: str) -> AsyncIterator[str]:
    """A compatible server that always writes that text; yields its base URL."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for piece in [text[at : at + 5] for at in range(0, len(text), 5)]:
            chunk = {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await response.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        return response

    async def models(_request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": []})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def written(text: str) -> list[generator_pb2.GenerateResponse]:
    async with (
        model(text) as url,
        generator(providers="openai", settings=SETTINGS | {"openai_base_url": url}) as running,
    ):
        return await generate(running.target)


@pytest.mark.parametrize(
    "text",
    [
        f"{FIRST}\n{SECOND}\n{THIRD}",
        f"{json.dumps(FIRST)}\n{SECOND}\n{json.dumps(THIRD)}",
        f"{json.dumps({'items': [FIRST]})[:-2]}, {SECOND}, {THIRD}]}}",
        json.dumps(FIRST) + "\n" + json.dumps(SECOND).replace('", "', '" "') + "\n" + str(THIRD),
    ],
)
async def test_items_that_are_no_json_are_items_all_the_same(text: str) -> None:
    events = await written(text)
    assert [item.title for item in items(events)] == ["성산일출봉", "섭지코지", "한라산"]
    assert [item.body for item in items(events)] == ["해가 뜨는 분화구", "바닷가 언덕", "높은 산"]
    assert outcomes(events) == [("openai", "ok")]
    assert summary(events).dropped_items == 0


async def test_a_repaired_item_is_judged_like_any_other() -> None:
    events = await written(f"{FIRST}\n{ {**SECOND, 'sources': ['made up']} }\n{json.dumps(THIRD)}")
    assert [item.title for item in items(events)][:2] == ["성산일출봉", "한라산"]
    assert summary(events).dropped_items == 1
