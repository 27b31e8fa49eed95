"""Puts the arms together: what they share, their clients, and the data that the hosted vector database is to hold.

Composition: decides which arm gets what, and holds no rule of any of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from bench.arms import models, retrieving
from bench.arms.floor import IDEAL, Floor
from bench.arms.knowledge import Document, Knowledge
from bench.arms.measured import Clock
from bench.arms.mesh import Mesh
from bench.arms.pipeline import Arm, Pipeline, Warmth
from bench.arms.prompting import Prompts
from bench.arms.queries import Query
from bench.arms.retrieving import Retrieval
from bench.arms.techniques import FLOOR, MESH, Techniques, alone, ladder
from bench.arms.upstreams import Addresses, FreshUpstreams, Upstreams, kept
from headway.catalogue.shipped import opened
from headway.domain import Domain
from headway.embedding import BatchedEncoder, OnnxEncoder

ENCODER = "use-multilingual"
_NO_PROXY = (("grpc.enable_http_proxy", 0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is there: the simulators, the mesh (its target is empty when no arm asks it), the clocks."""

    anthropic: str
    openai: str
    web: str
    vectors: str
    mesh: str
    clock: Clock
    time_of_day: Callable[[], str]

    def addresses(self, arm: str) -> Addresses:
        """For one arm, with a key of its own: prompt caches and compiled schemas are kept by key."""
        return Addresses(
            anthropic=self.anthropic, openai=self.openai, web=self.web, vectors=self.vectors, key=f"bench-{arm}"
        )


def known(domain: Domain, encoder: OnnxEncoder, batched: BatchedEncoder, state: Path) -> Knowledge:
    """The catalogue as the arms know it; its index is kept in `state`. Blocks for some seconds the first time."""
    index = opened(state / "catalogue.index", domain.name, domain.root, encoder).index
    return Knowledge(index, domain, batched)


@asynccontextmanager
async def assembled(
    names: Collection[str], around: Surroundings, knowledge: Knowledge, domain: Domain, queries: Sequence[Query]
) -> AsyncIterator[Mapping[str, Arm]]:
    """The arms of those names, ready to answer."""
    kinds = {**ladder(), **alone()}
    prompts, prices = Prompts(domain), models.prices()
    tiers: dict[str, str] = {}
    arms: dict[str, Arm] = {}
    async with AsyncExitStack() as lifetimes:
        for name in names:
            if name == MESH:
                channel = await lifetimes.enter_async_context(
                    grpc.aio.insecure_channel(around.mesh, options=list(_NO_PROXY))
                )
                arms[name] = Mesh(channel=channel, tiers=tiers, clock=around.clock)
            elif name == FLOOR:
                upstreams = await lifetimes.enter_async_context(kept(around.addresses(name)))
                arms[name] = Floor(
                    documents=await _found(knowledge, queries, around, upstreams),
                    upstreams=upstreams,
                    prompts=prompts,
                    prices=prices,
                    tiers=tiers,
                    clock=around.clock,
                )
            else:
                arms[name] = await _pipeline(name, kinds[name], around, knowledge, prompts, prices, lifetimes)
        if any(not kinds[name].local for name in names if name in kinds):
            filler = around.addresses("filler")
            await retrieving.fill(filler, knowledge, await lifetimes.enter_async_context(kept(filler)))
        yield arms


async def _pipeline(
    name: str,
    techniques: Techniques,
    around: Surroundings,
    knowledge: Knowledge,
    prompts: Prompts,
    prices: Mapping[str, Mapping[str, float]],
    lifetimes: AsyncExitStack,
) -> Pipeline:
    addresses = around.addresses(name)
    upstreams: Upstreams = (
        await lifetimes.enter_async_context(kept(addresses)) if techniques.pooling else FreshUpstreams(addresses)
    )
    return Pipeline(
        techniques=techniques,
        retrieval=Retrieval(techniques=techniques, upstreams=upstreams, addresses=addresses, knowledge=knowledge),
        upstreams=upstreams,
        prompts=prompts,
        prices=prices,
        warmth=Warmth(clock=around.clock),
        clock=around.clock,
        time_of_day=around.time_of_day,
    )


async def _found(
    knowledge: Knowledge, queries: Sequence[Query], around: Surroundings, upstreams: Upstreams
) -> dict[str, dict[str, list[Document]]]:
    """What the floor writes about, found before anything is measured."""
    local = Techniques(local=True, divide=True, compressed=IDEAL.compressed)
    retrieval = Retrieval(techniques=local, upstreams=upstreams, addresses=around.addresses(FLOOR), knowledge=knowledge)
    found = await asyncio.gather(*(retrieval.internal(query) for query in queries))
    return {query.text: documents for query, documents in zip(queries, found, strict=True)}
