"""Decides which models the providers say they have: those of the scenario's patterns that are names. Cheap, for
warming connections.

Refuses to know anything else about them.
"""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from simulators.journal import Entry
from simulators.script import sleep_until
from simulators.visit import visited
from simulators.world import World

EPOCH = "1970-01-01T00:00:00Z"


async def anthropic_models(request: web.Request, world: World) -> web.StreamResponse:
    """`GET /v1/models`, one page."""
    entries = [
        {"type": "model", "id": name, "display_name": name, "created_at": EPOCH, "lifecycle": "active"}
        for name in _names(world, anthropic=True)
    ]
    first, last = (entries[0]["id"], entries[-1]["id"]) if entries else (None, None)
    page = {"data": entries, "has_more": False, "first_id": first, "last_id": last}
    return await _listed(request, "anthropic.models", world, page)


async def openai_models(request: web.Request, world: World) -> web.StreamResponse:
    """`GET /v1/models`."""
    entries = [
        {"id": name, "object": "model", "created": 0, "owned_by": "simulated"}
        for name in _names(world, anthropic=False)
    ]
    return await _listed(request, "openai.models", world, {"object": "list", "data": entries})


async def _listed(request: web.Request, endpoint: str, world: World, page: dict[str, Any]) -> web.StreamResponse:
    began = world.clock()

    async def answer(entry: Entry) -> web.StreamResponse:
        rng = world.draws.of(endpoint, b"")
        setup = world.scenario.connection_setup.draw(rng)
        region = world.scenario.region(request.match_info.get("region", "default"))
        trip = region.round_trip.draw(rng) if region else 0.0
        await sleep_until(began + trip + (setup + 2 * trip if entry.new_connection else 0.0))
        entry.status = 200
        return web.Response(body=orjson.dumps(page), content_type="application/json")

    return await visited(request, endpoint, world, answer)


def _names(world: World, *, anthropic: bool) -> list[str]:
    names = (model.match.replace("*", "") for model in world.scenario.models)
    return sorted({name for name in names if len(name) > 4 and name.startswith("claude-") == anthropic})
