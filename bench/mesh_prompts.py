"""Finds out what the mesh asks the provider for each query, by asking the mesh and reading the simulator's journal.

Decides nothing about the prompts: they are the mesh's own, byte for byte.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from headway.load import Answer
from headway.load_calls import Request

TIMEOUT = 10.0


class Unexpected(Exception):  # noqa: N818 - named for what is the case
    """The mesh did not behave so that it can be compared; the message says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A request to the mesh and the calls that the mesh made for it."""

    request: Request
    bodies: tuple[dict[str, Any], ...]


async def recorded(
    requests: Sequence[Request], ask: Callable[[Request], Awaitable[Answer]], simulators: str
) -> list[Recorded]:
    """Asks the mesh each request once. Raises Unexpected when one is not answered by the Anthropic simulator."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    async with aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session:
        return [await _recorded(session, request, ask, simulators) for request in requests]


async def _recorded(
    session: aiohttp.ClientSession, request: Request, ask: Callable[[Request], Awaitable[Answer]], simulators: str
) -> Recorded:
    async with session.delete(f"{simulators}/control/requests"):
        pass
    answer = await ask(request)
    if answer.error or not answer.items or set(answer.tiers) == {"extractive"}:
        raise Unexpected(f"{request.query!r} was not answered with a model's items: {answer}")
    async with session.get(f"{simulators}/control/requests", params={"bodies": "1"}) as response:
        entries = (await response.json())["requests"]
    calls = [
        entry for entry in entries if not entry["endpoint"].startswith(("web.", "anthropic.models", "openai.models"))
    ]
    if not calls or any(each["endpoint"] != "anthropic.messages" or not each["body"] for each in calls):
        asked = sorted({each["endpoint"] for each in calls})
        raise Unexpected(f"{request.query!r} led to calls of {asked}; the comparison knows the Messages API alone")
    return Recorded(request=request, bodies=tuple(each["body"] for each in calls))
