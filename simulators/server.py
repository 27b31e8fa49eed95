"""Decides which path is answered by what, and runs it all in one process on one port. Composition; knows no format
itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import orjson
from aiohttp import web

from simulators import embeddings_api, vector_store, web_search
from simulators.anthropic_api import AnthropicMessages
from simulators.exchange import converse
from simulators.journal import Entry
from simulators.listing import anthropic_models, openai_models
from simulators.openai_chat import OpenAIChat
from simulators.openai_responses import OpenAIResponses
from simulators.queues import background
from simulators.scenario import Scenario
from simulators.scenario_file import load
from simulators.turn import Dialect
from simulators.world import World, world

LARGEST_REQUEST_BYTES = 8 * 1024 * 1024
IDLE_CONNECTION_SECONDS = 300.0
"""Longer than any client keeps a connection, so that a pooled one is never closed just as it is used."""
GRACE_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Simulators that run."""

    url: str
    port: int
    world: World

    @property
    def anthropic_url(self) -> str:
        """The Anthropic SDK's `base_url`."""
        return f"{self.url}/anthropic"

    @property
    def openai_url(self) -> str:
        """The OpenAI SDK's `base_url`."""
        return f"{self.url}/openai/v1"

    @property
    def web_url(self) -> str:
        """The web search's base: `/search` follows for Tavily's shape, `/brave/res/v1/web/search` for Brave's."""
        return f"{self.url}/web"

    @property
    def vectors_url(self) -> str:
        """The vector database's base: `/upsert` and `/query` follow."""
        return f"{self.url}/vectors"

    @property
    def requests(self) -> list[Entry]:
        """What was asked so far, oldest first."""
        return list(self.world.journal.entries)

    async def until(self, holds: Callable[[list[Entry]], bool], *, within: float = 5.0) -> None:
        """Wait until something became true of the requests; `TimeoutError` when it does not within so many
        seconds."""
        await self.world.journal.until(lambda: holds(self.requests), within=within)

    def forget(self) -> None:
        """Start afresh: no requests, nothing in the prompt cache, limits full, draws from their beginning."""
        self.world.forget()

    def skip(self, seconds: float) -> None:
        """Let so much time pass for everything that expires or fills: caches, limits, faults with a window, the day."""
        self.world.calendar.skip(seconds)

    def region(self, name: str) -> Simulation:
        """The same simulators seen through another region: its URLs begin with `/regions/NAME`."""
        return replace(self, url=f"{self.url}/regions/{name}")


@asynccontextmanager
async def running(
    *, scenario: Scenario | str | Path = "default", seed: int = 1, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Simulation]:
    """Run the simulators on this event loop. Port 0 takes a free one.

    Raises `ScenarioError` for a scenario that cannot be used and `OSError` for a port that cannot be had.
    """
    chosen = scenario if isinstance(scenario, Scenario) else load(scenario)
    shared = world(chosen, seed=seed, clock=asyncio.get_running_loop().time)
    runner = web.AppRunner(
        application(shared),
        access_log=None,
        # Without this nobody would notice that the caller has left until the next write.
        handler_cancellation=True,
        keepalive_timeout=IDLE_CONNECTION_SECONDS,
        shutdown_timeout=GRACE_SECONDS,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, reuse_address=True, backlog=1024).start()
        bound = int(runner.addresses[0][1])
        async with background(chosen, shared.queues, seed=seed):
            yield Simulation(url=f"http://{host}:{bound}", port=bound, world=shared)
    finally:
        await runner.cleanup()


def application(shared: World) -> web.Application:
    """Every path that is answered, each also under `/regions/NAME`."""
    app = web.Application(client_max_size=LARGEST_REQUEST_BYTES)
    models: dict[str, Dialect] = {
        "/anthropic/v1/messages": AnthropicMessages(),
        "/openai/v1/chat/completions": OpenAIChat(),
        "/openai/v1/responses": OpenAIResponses(),
    }
    for start in ("", "/regions/{region}"):
        for path, dialect in models.items():
            app.router.add_post(start + path, partial(converse, dialect=dialect, world=shared))
        app.router.add_get(start + "/anthropic/v1/models", partial(anthropic_models, world=shared))
        app.router.add_get(start + "/openai/v1/models", partial(openai_models, world=shared))
    app.router.add_post("/openai/v1/embeddings", partial(embeddings_api.embeddings, world=shared))
    app.router.add_post("/vectors/upsert", partial(vector_store.upsert, world=shared))
    app.router.add_post("/vectors/query", partial(vector_store.query, world=shared))
    app.router.add_post("/web/search", partial(web_search.tavily, world=shared))
    app.router.add_get("/web/brave/res/v1/web/search", partial(web_search.brave, world=shared))
    app.router.add_get("/healthz", partial(_health, world=shared))
    app.router.add_get("/control/requests", partial(_shown, world=shared))
    app.router.add_delete("/control/requests", partial(_reset, world=shared))
    app.router.add_post("/control/skip", partial(_skip, world=shared))
    return app


async def _health(request: web.Request, world: World) -> web.Response:
    return _json({"status": "ok", "scenario": world.scenario.name})


async def _shown(request: web.Request, world: World) -> web.Response:
    with_bodies = request.query.get("bodies") == "1"
    entries = [entry.as_json() | ({"body": entry.body} if with_bodies else {}) for entry in list(world.journal.entries)]
    return _json({"requests": entries, "outcomes": dict(world.journal.outcomes)})


async def _reset(request: web.Request, world: World) -> web.Response:
    world.forget()
    return web.Response(status=204)


async def _skip(request: web.Request, world: World) -> web.Response:
    try:
        seconds = float(request.query["seconds"])
    except (KeyError, ValueError):
        return web.Response(status=400, text="seconds must be given, as a number")
    world.calendar.skip(seconds)
    return web.Response(status=204)


def _json(value: object) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")
