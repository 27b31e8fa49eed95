"""One question to a running mesh: the call, its events as they arrive, and how it ended.

Decides when a target counts as unreachable and that a call is cancelled whatever ends the wait. How events look is the
caller's business.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import grpc

from headway.channel import resolvable
from headway.cli.endpoints import channel_options
from headway.cli.failures import FAILED, Problem, explain, unreachable
from headway.cli.render import Show
from headway.deadline import Clock
from headway.messages import duration
from headway.v1 import item_pb2, recommendation_pb2, recommendation_pb2_grpc

CONNECT_WITHIN = 3.0
"""Seconds to find somebody at the target; not part of the deadline, which starts when the request is sent."""
WAIT_WITHOUT_DEADLINE = 300.0
"""Seconds after which a call without a deadline is given up: longer than any deadline a mesh takes by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask. ``deadline`` None leaves it to the mesh; empty values leave things unset."""

    query: str
    deadline: float | None = None
    language: str = ""
    max_items: int | None = None
    sections: Sequence[str] = ()
    first_item_within: float | None = None
    max_tier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a call ended: the items that arrived, whether the summary did, and the problem if there was one."""

    items: int
    complete: bool
    problem: Problem | None


def request(question: Question) -> recommendation_pb2.RecommendRequest:
    """The question as it travels. Raises ValueError when the query is not text that can be sent."""
    try:
        question.query.encode()
    except UnicodeEncodeError as fault:
        raise ValueError("the query is not valid UTF-8; check the encoding of the terminal") from fault
    message = recommendation_pb2.RecommendRequest(
        query=question.query, locale=question.language, sections=list(question.sections)
    )
    if question.max_items is not None:
        message.max_items = question.max_items
    if question.first_item_within is not None:
        message.first_item_within.CopyFrom(duration(question.first_item_within))
    if question.max_tier:
        message.max_tier = item_pb2.Tier.Value(f"TIER_{question.max_tier.upper()}")
    return message


async def ask(question: Question, target: str, show: Show, *, clock: Clock = time.monotonic) -> Ended:
    """Asks and shows each event the moment it arrives. Raises ValueError as ``request`` does, and whatever ``show``
    raises; the call is cancelled then.
    """
    message = request(question)
    async with grpc.aio.insecure_channel(resolvable(target), options=channel_options(target)) as channel:
        if not await connects(channel):
            return Ended(items=0, complete=False, problem=unreachable(target))
        return await _answer(channel, message, question, target, show, clock)


async def _answer(
    channel: grpc.aio.Channel,
    message: recommendation_pb2.RecommendRequest,
    question: Question,
    target: str,
    show: Show,
    clock: Clock,
) -> Ended:
    stub = recommendation_pb2_grpc.RecommendationServiceStub(channel)
    events = items = 0
    complete = False
    problem: Problem | None = None
    sent = clock()
    # gRPC keeps a deadline; only calls without one need a limit of ours.
    limit = WAIT_WITHOUT_DEADLINE if question.deadline is None else None
    call = stub.Recommend(message, timeout=question.deadline)
    try:
        async with asyncio.timeout(limit):
            async for event in call:
                events += 1
                items += event.WhichOneof("event") == "item"
                complete = event.WhichOneof("event") == "summary"
                show(event, clock() - sent)
    except grpc.aio.AioRpcError as error:
        problem = explain(error, target=target, deadline=question.deadline, events=events, items=items)
    except TimeoutError:
        problem = Problem(message=f"No end of the answer within {limit:g} s. Set a limit with --deadline.", code=FAILED)
    finally:
        call.cancel()
    return Ended(items=items, complete=complete and problem is None, problem=problem)


async def connects(channel: grpc.aio.Channel) -> bool:
    """Whether somebody is found at the other end, within ``CONNECT_WITHIN``."""
    try:
        async with asyncio.timeout(CONNECT_WITHIN):
            state = channel.get_state(try_to_connect=True)
            while state is not grpc.ChannelConnectivity.READY:
                if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                    return False
                await channel.wait_for_state_change(state)
                state = channel.get_state(try_to_connect=True)
    except TimeoutError:
        return False
    return True
