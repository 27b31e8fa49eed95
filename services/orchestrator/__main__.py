"""The orchestrator process: ``python -m services.orchestrator``."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack

from headway import floor, process
from headway.channel import connected, reachable
from headway.deadline import Deadline
from headway.domain import DomainError, load
from headway.server import Check, Hosted, SharedConfig, always_ready, listening
from headway.v1 import explain_pb2_grpc, recommendation_pb2_grpc
from services.orchestrator.answer import Parts
from services.orchestrator.config import OrchestratorConfig
from services.orchestrator.explain import ExplainService, Recent
from services.orchestrator.floor_items import FloorWriter
from services.orchestrator.neighbours import Neighbours
from services.orchestrator.policy import Priors
from services.orchestrator.service import RecommendationService

NAME = "headway.v1.RecommendationService"
ROUTER, RETRIEVAL, GENERATOR = (f"headway.v1.{name}Service" for name in ("Router", "Retrieval", "Generator"))


async def serve(config: OrchestratorConfig, shared: SharedConfig, stop: asyncio.Event) -> None:
    """Connects to the neighbours, serves the public API and drains when ``stop`` is set."""
    try:
        domain = load(config.domain)
        phrases = floor.load(config.domain / floor.PHRASES_FILE)
    except (DomainError, floor.PhrasesError) as fault:
        raise process.Unusable(str(fault)) from fault
    async with AsyncExitStack() as lifetimes:
        router = await lifetimes.enter_async_context(connected(config.router, ROUTER))
        retrieval = await lifetimes.enter_async_context(connected(config.retrieval, RETRIEVAL))
        generator = await lifetimes.enter_async_context(connected(config.generator, GENERATOR))
        parts = Parts(
            domain=domain,
            neighbours=Neighbours(router, retrieval, generator),
            priors=_priors(config),
            records_per_item=config.records_per_item,
            items_per_piece=config.items_per_piece,
            floor=FloorWriter(phrases),
        )
        recent = Recent(config.explain_keep)
        hosted = Hosted(
            name=NAME,
            register=lambda server: recommendation_pb2_grpc.add_RecommendationServiceServicer_to_server(
                RecommendationService(parts, recent), server
            ),
            check=_readiness(
                needed=reachable(retrieval, RETRIEVAL),
                wished=[reachable(router, ROUTER), reachable(generator, GENERATOR)],
                patience=Deadline.after(config.start_patience, time.monotonic),
            ),
        )
        services = [hosted, _explaining(recent)] if recent.keep else [hosted]
        await lifetimes.enter_async_context(listening(config.listen, services, shared))
        await stop.wait()


def _explaining(recent: Recent) -> Hosted:
    service = ExplainService(recent, clock=time.monotonic)
    return Hosted(
        name="headway.v1.ExplainService",
        register=lambda server: explain_pb2_grpc.add_ExplainServiceServicer_to_server(service, server),
        check=always_ready,
    )


def _readiness(*, needed: Check, wished: Sequence[Check], patience: Deadline) -> Check:
    """Ready when retrieval can be reached, without which there is nothing to answer from.

    Router and generator are waited for at start, so that a mesh that comes up does not begin with degraded answers,
    but no longer than ``patience``: without the router every query counts as a recommendation, without the generator
    the floor writes.
    """
    seen = [False] * len(wished)

    async def check() -> str:
        for index, wish in enumerate(wished):
            if not seen[index] and not patience.expired():
                if missing := await wish():
                    return missing
                seen[index] = True
        return await needed()

    return check


def _priors(config: OrchestratorConfig) -> Priors:
    return Priors(
        router_cap=config.router_cap,
        router_floor=config.router_floor,
        retrieval_cap=config.retrieval_cap,
        retrieval_floor=config.retrieval_floor,
        web_cap=config.web_cap,
        web_generation=config.web_generation,
        generator_floor=config.generator_floor,
    )


def main() -> int:
    """The exit code of the process."""
    return process.run("orchestrator", OrchestratorConfig, serve, os.environ)


if __name__ == "__main__":
    raise SystemExit(main())
