"""The orchestrator process: ``python -m services.orchestrator``."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

from headway import floor, process
from headway.channel import connected, reachable
from headway.domain import DomainError, load
from headway.server import Hosted, SharedConfig, listening
from headway.v1 import recommendation_pb2_grpc
from services.orchestrator.answer import Parts
from services.orchestrator.config import OrchestratorConfig
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
            floor=FloorWriter(phrases),
        )
        # Only retrieval is needed to answer at all: without the router every query counts as a recommendation, without
        # the generator the floor writes.
        hosted = Hosted(
            name=NAME,
            register=lambda server: recommendation_pb2_grpc.add_RecommendationServiceServicer_to_server(
                RecommendationService(parts), server
            ),
            check=reachable(retrieval, RETRIEVAL),
        )
        await lifetimes.enter_async_context(listening(config.listen, [hosted], shared))
        await stop.wait()


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
