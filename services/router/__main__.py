"""The router process: ``python -m services.router``."""

from __future__ import annotations

import asyncio
import os
import sys

import faiss
import structlog

from headway import domain, process
from headway.embedding import BatchedEncoder, EncoderError, load
from headway.server import Hosted, SharedConfig, always_ready, listening
from headway.v1 import router_pb2_grpc
from services.router.config import RouterConfig
from services.router.service import RouterService, learn


async def serve(config: RouterConfig, shared: SharedConfig, stop: asyncio.Event) -> None:
    """Loads everything first: a router that listens is ready."""
    # One thread a search: among a few hundred examples a second one costs more in waking and spinning than it finds.
    faiss.omp_set_num_threads(1)
    try:
        encoder = await asyncio.to_thread(load, config.encoder, config.models)
        knowledge = await asyncio.to_thread(learn, domain.load(config.domain), encoder)
    except (EncoderError, domain.DomainError) as fault:
        raise process.Unusable(str(fault)) from fault
    async with BatchedEncoder(encoder, workers=config.workers, batch=config.batch, waiting=config.waiting) as batched:
        service = RouterService(knowledge, batched)
        hosted = Hosted(
            name="headway.v1.RouterService",
            register=lambda server: router_pb2_grpc.add_RouterServiceServicer_to_server(service, server),
            check=always_ready,
            watch=service.watch,
        )
        async with listening(config.listen, [hosted], shared) as address:
            structlog.get_logger().info(
                "listening", address=address, model=encoder.model, examples=len(knowledge.intents)
            )
            await stop.wait()


def main() -> int:
    """Runs until a signal; returns the exit code of ``headway.process``."""
    return process.run("router", RouterConfig, serve, os.environ)


if __name__ == "__main__":
    sys.exit(main())
