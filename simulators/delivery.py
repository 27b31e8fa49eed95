"""Decides how an answer reaches the caller, streamed or whole, and what is remembered of it on the way.

Refuses to know how the answer came about.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from aiohttp import web

from simulators.answer import Answer
from simulators.faults import Faults
from simulators.journal import Entry
from simulators.script import Act, Broken, play, sleep_until
from simulators.staging import staged
from simulators.turn import Turn, Usage
from simulators.world import World

EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """Everything that is delivered, and when."""

    turn: Turn
    answer: Answer
    usage: Usage
    """At the end."""
    faults: Faults
    starts: float
    """When the first token is due, on the loop's clock."""
    per_token: float
    headers: dict[str, str]


async def deliver(request: web.Request, parcel: Parcel, world: World, entry: Entry) -> web.StreamResponse:
    """Wait until the first token is due, then send the answer as it was asked for.

    Raises `Broken` where the faults say so, and whatever the transport raises when the caller is gone.
    """
    await sleep_until(parcel.starts)
    world.cache.begun(parcel.usage.found, now=world.calendar.now())
    world.journal.first_token(entry)
    entry.status = 200
    if parcel.turn.call.stream:
        return await _streamed(request, parcel, entry)
    return await _whole(parcel, world, entry)


async def _streamed(request: web.Request, parcel: Parcel, entry: Entry) -> web.StreamResponse:
    response = web.StreamResponse(headers={**EVENT_STREAM, **parcel.headers})
    await response.prepare(request)

    def billed(tokens: int) -> None:
        entry.output_tokens += tokens

    steps = staged(parcel.turn, parcel.answer, parcel.usage, parcel.faults, per_token=parcel.per_token)
    await play(steps, start=parcel.starts, write=response.write, billed=billed)
    await response.write_eof()
    return response


async def _whole(parcel: Parcel, world: World, entry: Entry) -> web.Response:
    tokens = parcel.answer.billed_tokens
    late = parcel.faults["slow_first_token"].number("seconds") if "slow_first_token" in parcel.faults else 0.0
    begins = parcel.starts + late
    try:
        await sleep_until(begins + parcel.per_token * tokens)
    except asyncio.CancelledError:
        # What was generated when the caller left is billed, whether it was sent or not.
        entry.output_tokens = max(0, min(tokens, int((world.clock() - begins) / parcel.per_token) + 1))
        raise
    entry.output_tokens = tokens
    body = parcel.turn.whole(parcel.answer.text, parcel.usage, parcel.answer.ending)
    if {"close", "error_in_stream"} & set(parcel.faults):
        raise Broken(Act.CLOSE)
    if "malformed_body" in parcel.faults:
        body = body[: len(body) // 2]
    return web.Response(body=body, content_type="application/json", headers=parcel.headers)
