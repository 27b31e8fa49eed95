"""The generator process: ``python -m services.generator``."""

from __future__ import annotations

import asyncio
import os
import time

import structlog

from headway import domain, floor, process
from headway.server import Hosted, SharedConfig, always_ready, listening
from headway.v1 import generator_pb2_grpc
from services.generator import models
from services.generator.config import GeneratorConfig
from services.generator.furnishing import furnished, opened
from services.generator.service import GeneratorService


async def serve(config: GeneratorConfig, shared: SharedConfig, stop: asyncio.Event) -> None:
    """Connects to the providers that have a key, serves, and drains when ``stop`` is set.

    It is ready without any provider: the floor writes then.
    """
    try:
        equipment = furnished(config)
    except (domain.DomainError, models.CatalogueError, floor.PhrasesError) as fault:
        raise process.Unusable(str(fault)) from fault
    async with opened(equipment, clock=time.monotonic) as desk:
        service = GeneratorService(desk, first_item_within=config.first_item_within)
        hosted = Hosted(
            name="headway.v1.GeneratorService",
            register=lambda server: generator_pb2_grpc.add_GeneratorServiceServicer_to_server(service, server),
            check=always_ready,
            watch=service.watch,
        )
        async with listening(config.listen, [hosted], shared) as address:
            structlog.get_logger().info("listening", address=address)
            await stop.wait()


def main() -> int:
    """Runs until a signal; returns the exit code of ``headway.process``."""
    return process.run("generator", GeneratorConfig, serve, os.environ)


if __name__ == "__main__":
    raise SystemExit(main())
