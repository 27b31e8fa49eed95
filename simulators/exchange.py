"""Decides how a call to a model goes: what it waits for, what it gets, what is remembered of it. The same for every
provider.

Refuses to know any provider's format (a dialect speaks it), the answer's text (`simulators.answer`) and how it is
sent
(`simulators.delivery`).
"""

from __future__ import annotations

from random import Random

import orjson
from aiohttp import web

from simulators.answer import answered
from simulators.delivery import Parcel, deliver
from simulators.faults import HEADER, Faults
from simulators.journal import Entry
from simulators.prompt_cache import Found
from simulators.refusing import refused
from simulators.script import Act, Broken, sleep_until
from simulators.timing import Timing, drawn
from simulators.turn import Call, Dialect, Heading, Incoming, Refused, Turn, Usage
from simulators.visit import headers_of, visited
from simulators.world import World

LIMITS = ("requests", "tokens", "input_tokens", "output_tokens")


async def converse(request: web.Request, dialect: Dialect, world: World) -> web.StreamResponse:
    """Answer one call to a model."""

    async def answer(entry: Entry) -> web.StreamResponse:
        request_id = f"req_{entry.number:024d}"
        try:
            return await _answer(request, dialect, world, entry, request_id)
        except Refused as refusal:
            entry.status, entry.outcome = refusal.status, "refused"
            headers = {**dialect.headers(request_id, 0.0), **refusal.headers}
            body = dialect.refusal(refusal, request_id)
            return web.Response(status=refusal.status, body=body, content_type="application/json", headers=headers)

    return await visited(request, dialect.endpoint, world, answer)


async def _answer(
    request: web.Request, dialect: Dialect, world: World, entry: Entry, request_id: str
) -> web.StreamResponse:
    began = world.clock()
    turn = await _understood(request, dialect, world, entry)
    call = turn.call
    rng = world.draws.of(dialect.endpoint, call.prefix.digest)
    faults = _faults(dialect, world, entry, call, rng)
    timing = _timing(request, world, entry, call, faults, rng)
    await sleep_until(began + timing.reach)
    await _refuse_or_hang(dialect, world, call, faults)
    owner = _admit(dialect, world, call)
    due = began + timing.reach
    if call.schema is not None and world.grammars.use(call.workspace, call.schema, now=world.calendar.now()):
        due += timing.compile
        await sleep_until(due)
    async with world.queues.slot(call.model.tier) as others:
        parcel = _parcel(dialect, world, entry, turn, faults, timing, rng, due=max(due, world.clock()), others=others)
        parcel.headers.update(dialect.headers(request_id, parcel.starts - began))
        parcel.headers.update(_limit_headers(dialect, world, owner))
        try:
            return await deliver(request, parcel, world, entry)
        finally:
            world.buckets.take(owner, dialect.limits(world.scenario), "output_tokens", entry.output_tokens)


async def _understood(request: web.Request, dialect: Dialect, world: World, entry: Entry) -> Turn:
    try:
        body = orjson.loads(await request.read())
    except web.HTTPRequestEntityTooLarge as error:
        raise dialect.error(413, message="Request exceeds the maximum size") from error
    except orjson.JSONDecodeError as error:
        raise dialect.error(400, message=f"The request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise dialect.error(400, message="The request body must be a JSON object.")
    world.journal.keep_body(entry, body)
    turn = dialect.read(Incoming(body=body, headers=headers_of(request), scenario=world.scenario))
    entry.model, entry.stream = turn.call.model_name, turn.call.stream
    return turn


def _faults(dialect: Dialect, world: World, entry: Entry, call: Call, rng: Random) -> Faults:
    try:
        faults = world.chooser.choose(
            entry.headers.get(HEADER),
            endpoint=dialect.endpoint,
            model=call.model_name,
            now=world.calendar.now(),
            rng=rng,
        )
    except ValueError as error:
        raise dialect.error(400, message=f"{HEADER}: {error}") from error
    entry.simulated = tuple(faults)
    return faults


def _timing(request: web.Request, world: World, entry: Entry, call: Call, faults: Faults, rng: Random) -> Timing:
    name = request.match_info.get("region", "default")
    region = world.scenario.region(name)
    if region is None:
        raise web.HTTPNotFound(text=f"no region {name!r} in scenario {world.scenario.name}")
    return drawn(
        world.scenario,
        world.scenario.tier(call.model.tier),
        region,
        faults,
        rng,
        pace=world.pace(),
        new_connection=entry.new_connection,
    )


async def _refuse_or_hang(dialect: Dialect, world: World, call: Call, faults: Faults) -> None:
    if "never_answers" in faults:
        await sleep_until(world.clock() + faults["never_answers"].number("seconds"))
        raise Broken(Act.CLOSE)
    if "reset" in faults and faults["reset"].whole("tokens") < 0 and faults["reset"].whole("items") < 0:
        raise Broken(Act.RESET)
    refusal = refused(faults, dialect, call, epoch=world.epoch())
    if refusal is not None:
        raise refusal


def _admit(dialect: Dialect, world: World, call: Call) -> str:
    """Take from the limits what is known already; whose they are is returned. `Refused` when one of them is used
    up."""
    owner = _owner(call)
    # Anthropic counts tokens when they are known; until then a debt of earlier calls is all that can be in the way.
    amounts = {
        "requests": 1,
        "tokens": call.prefix.total_tokens + (call.max_tokens or 0),
        "input_tokens": 0,
        "output_tokens": 0,
    }
    limits = dialect.limits(world.scenario)
    lacking = world.buckets.admit(owner, limits, amounts)
    if lacking is not None:
        refusal = dialect.too_much(*lacking, call.model_name)
        refusal.headers.update(_limit_headers(dialect, world, owner))
        raise refusal
    return owner


def _limit_headers(dialect: Dialect, world: World, owner: str) -> dict[str, str]:
    levels = world.buckets.levels(owner, dialect.limits(world.scenario), LIMITS)
    return dialect.limit_headers(levels, world.epoch())


def _parcel(
    dialect: Dialect,
    world: World,
    entry: Entry,
    turn: Turn,
    faults: Faults,
    timing: Timing,
    rng: Random,
    *,
    due: float,
    others: int,
) -> Parcel:
    """What the model makes of the call when its turn has come."""
    call, identity = turn.call, f"{rng.getrandbits(96):024x}"
    now = world.calendar.now()
    machine = world.machines.of(call.cache_group, now=now)
    found = world.cache.look(call.prefix, minimum_tokens=call.cache_minimum_tokens, now=now, machine=machine)
    _count_input(dialect, world, entry, call, found)
    answer = answered(call, faults)
    usage = Usage(
        input_tokens=call.prefix.total_tokens,
        output_tokens=answer.billed_tokens,
        thinking_tokens=len(answer.thoughts),
        found=found,
    )
    diagnosis = dialect.diagnosis(world.fingerprints.of(call.compared_with), call, found)
    world.fingerprints.keep(identity, call.fingerprint)
    turn.begin(
        Heading(
            identity=identity,
            created=int(world.epoch()),
            usage=usage,
            diagnosis=diagnosis,
            is_thinking=bool(answer.thoughts),
        )
    )
    first = timing.first_token(input_tokens=usage.input_tokens, read_tokens=found.read_tokens)
    success = faults.get("retry_after_on_success")
    return Parcel(
        turn=turn,
        answer=answer,
        usage=usage,
        faults=faults,
        starts=due + first,
        per_token=timing.slowed(others, world.scenario.tier(call.model.tier).slowdown),
        headers={"retry-after": f"{success.number('seconds'):g}"} if success else {},
    )


def _count_input(dialect: Dialect, world: World, entry: Entry, call: Call, found: Found) -> None:
    entry.input_tokens = call.prefix.total_tokens
    entry.cache_read_tokens = found.read_tokens
    entry.cache_write_tokens = found.all_written_tokens
    entry.billed_input = dialect.billed_input(call, found)
    uncached = call.prefix.total_tokens - found.read_tokens
    world.buckets.take(_owner(call), dialect.limits(world.scenario), "input_tokens", uncached)


def _owner(call: Call) -> str:
    """Limits are shared by a family of models, such as all called `claude-opus`."""
    return f"{call.workspace} {'-'.join(call.model_name.split('-')[:2])}"
