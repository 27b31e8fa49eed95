"""Decides how a call to a model goes: what it waits for, what it gets, what is remembered of it. The same for every
provider.

Refuses to know any provider's format (a dialect speaks it) and what makes the answer's text (`simulators.writer`).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from random import Random
from typing import Any

import orjson
from aiohttp import web

from simulators import prompt, writer
from simulators.connections import Connections, reset
from simulators.draws import Draws
from simulators.journal import Entry, Journal
from simulators.prompt_cache import PromptCache
from simulators.scenario import Scenario
from simulators.script import Act, Broken, Step, play, sleep_until
from simulators.tokens import pieces
from simulators.turn import COMPLETE, MAX_TOKENS, Call, Dialect, Incoming, Refused, Turn, Usage

EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all requests of one process share."""

    scenario: Scenario
    draws: Draws
    journal: Journal
    cache: PromptCache
    connections: Connections


async def converse(request: web.Request, dialect: Dialect, world: World) -> web.StreamResponse:
    """Answer one call to a model."""
    began = asyncio.get_running_loop().time()
    entry = world.journal.open(
        dialect.endpoint, headers=_headers(request), new_connection=world.connections.is_new(request)
    )
    try:
        response = await _answer(request, dialect, world, entry, began)
    except asyncio.CancelledError:
        world.journal.close(entry, "disconnected")
        raise
    except Broken as broken:
        world.journal.close(entry, "faulted")
        return reset(request, hard=broken.act is Act.RESET)
    except (ConnectionResetError, OSError):
        world.journal.close(entry, "disconnected")
        return reset(request, hard=False)
    return response


async def _answer(
    request: web.Request, dialect: Dialect, world: World, entry: Entry, began: float
) -> web.StreamResponse:
    raw = await request.read()
    request_id = f"req_{entry.number:024d}"
    try:
        body = _parsed(raw)
        world.journal.keep_body(entry, body)
        turn = dialect.read(Incoming(body=body, headers=entry.headers, scenario=world.scenario))
    except Refused as refused:
        return _refuse(dialect, world, entry, refused, request_id)
    rng, _ = world.draws.of(dialect.endpoint, turn.call.prefix.digest)
    entry.model, entry.stream = turn.call.model_name, turn.call.stream
    plan = await _prepare(turn.call, world, entry, rng, began)
    turn.begin(f"{rng.getrandbits(96):024x}", plan.usage(0), int(time.time()))
    headers = dialect.headers(request_id, plan.starts - began)
    if turn.call.stream:
        return await _stream(request, turn, world, entry, plan, headers)
    return await _whole(turn, world, entry, plan, headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was decided about an answer before its first byte."""

    starts: float
    """When the first token is due, on the loop's clock."""
    per_token: float
    tokens: tuple[str, ...]
    ending: str
    input_usage: Usage

    def usage(self, output_tokens: int) -> Usage:
        """What the answer will have consumed after so many tokens."""
        known = self.input_usage
        return Usage(input_tokens=known.input_tokens, output_tokens=output_tokens, found=known.found)


async def _prepare(call: Call, world: World, entry: Entry, rng: Random, began: float) -> Plan:
    """Wait for what comes before the model reads the prompt, look into the cache, and decide all the rest."""
    scenario = world.scenario
    tier = scenario.tier(call.model.tier)
    setup = scenario.connection_setup.draw(rng) if entry.new_connection else 0.0
    await sleep_until(began + setup)
    found = world.cache.look(
        call.prefix, minimum_tokens=call.model.cache_minimum_tokens, now=asyncio.get_running_loop().time()
    )
    cold, cached = tier.first_token_cold.draw(rng), tier.first_token_cached.draw(rng)
    first = cached if found.read_tokens else cold
    if rng.random() < tier.stall.chance:
        first += tier.stall.seconds
    entry.input_tokens = call.prefix.total_tokens
    entry.cache_read_tokens, entry.cache_write_tokens = found.read_tokens, found.all_written_tokens
    tokens = [] if call.is_warming else pieces(writer.joined(writer.write(prompt.read(call.text), call.schema)))
    is_cut = call.max_tokens is not None and len(tokens) > call.max_tokens
    return Plan(
        starts=began + setup + first,
        per_token=tier.per_token.draw(rng),
        tokens=tuple(tokens[: call.max_tokens] if is_cut else tokens),
        ending=MAX_TOKENS if is_cut or call.is_warming else COMPLETE,
        input_usage=Usage(input_tokens=call.prefix.total_tokens, output_tokens=0, found=found),
    )


def _begun(world: World, entry: Entry, plan: Plan) -> None:
    world.cache.begun(plan.input_usage.found, now=asyncio.get_running_loop().time())
    world.journal.first_token(entry)


async def _stream(
    request: web.Request, turn: Turn, world: World, entry: Entry, plan: Plan, headers: dict[str, str]
) -> web.StreamResponse:
    await sleep_until(plan.starts)
    _begun(world, entry, plan)
    response = web.StreamResponse(headers={**EVENT_STREAM, **headers})
    entry.status = 200
    await response.prepare(request)

    def billed(tokens: int) -> None:
        entry.output_tokens += tokens

    await play(_script(turn, plan), start=plan.starts, write=response.write, billed=billed)
    await response.write_eof()
    world.journal.close(entry, "complete")
    return response


def _script(turn: Turn, plan: Plan) -> list[Step]:
    steps = [Step(0.0, turn.opening())]
    wait = 0.0
    for token in plan.tokens:
        steps.append(Step(wait, turn.delta(token), 1))
        wait = plan.per_token
    steps.append(Step(0.0, turn.closing("".join(plan.tokens), plan.usage(len(plan.tokens)), plan.ending)))
    return steps


async def _whole(turn: Turn, world: World, entry: Entry, plan: Plan, headers: dict[str, str]) -> web.StreamResponse:
    await sleep_until(plan.starts)
    _begun(world, entry, plan)
    try:
        await sleep_until(plan.starts + plan.per_token * len(plan.tokens))
        entry.output_tokens = len(plan.tokens)
    except asyncio.CancelledError:
        done = asyncio.get_running_loop().time() - plan.starts
        entry.output_tokens = min(len(plan.tokens), int(done / plan.per_token) + 1)
        raise
    entry.status = 200
    body = turn.whole("".join(plan.tokens), plan.usage(len(plan.tokens)), plan.ending)
    world.journal.close(entry, "complete")
    return web.Response(body=body, content_type="application/json", headers=headers)


def _refuse(dialect: Dialect, world: World, entry: Entry, refused: Refused, request_id: str) -> web.Response:
    entry.status = refused.status
    world.journal.close(entry, "refused")
    return web.Response(
        status=refused.status,
        body=dialect.refusal(refused, request_id),
        content_type="application/json",
        headers={**dialect.headers(request_id, 0.0), **refused.headers},
    )


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refused(400, "invalid_request_error", f"The request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise Refused(400, "invalid_request_error", "The request body must be a JSON object.")
    return body


def _headers(request: web.Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}
