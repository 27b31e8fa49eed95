"""Decides how a plain question over HTTP goes that no model answers: read, let its time pass, answer, remember.

Refuses to know what is asked; faults do not apply here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiohttp import web

from simulators.journal import Entry
from simulators.latency import Latency
from simulators.script import sleep_until
from simulators.visit import visited
from simulators.world import World


class Unanswerable(ValueError):  # noqa: N818 - an outcome of a request, not a mistake of ours
    """The request gets 400 and these words."""


async def looked_up(
    request: web.Request,
    endpoint: str,
    world: World,
    latency: Latency,
    answer: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> web.StreamResponse:
    """Answer a JSON body with a JSON body after the time that is drawn, longer on a new connection; 400 where `answer`
    raises `ValueError`."""
    began = world.clock()

    async def answered(entry: Entry) -> web.StreamResponse:
        raw = await request.read()
        rng = world.draws.of(endpoint, raw)
        seconds, setup = latency.draw(rng) * world.pace(), world.scenario.connection_setup.draw(rng)
        try:
            body = orjson.loads(raw)
            if not isinstance(body, dict):
                raise Unanswerable("The request body must be a JSON object.")
            value = answer(body)
        except ValueError as fault:
            entry.status, entry.outcome = 400, "refused"
            error = {"message": str(fault), "type": "invalid_request_error", "param": None, "code": None}
            return web.Response(status=400, body=orjson.dumps({"error": error}), content_type="application/json")
        await sleep_until(began + seconds + (setup if entry.new_connection else 0.0))
        entry.status = 200
        return web.Response(
            body=orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY), content_type="application/json"
        )

    return await visited(request, endpoint, world, answered)
