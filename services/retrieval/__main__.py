"""The retrieval process: ``python -m services.retrieval``."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import faiss
import structlog

from headway import domain, process
from headway.catalogue.index import Index
from headway.catalogue.index_file import IndexFileError
from headway.catalogue.shipped import BrokenCatalogueError, opened
from headway.embedding import BatchedEncoder, EncoderError, OnnxEncoder, load
from headway.server import Hosted, SharedConfig, always_ready, listening
from headway.v1 import retrieval_pb2_grpc
from services.retrieval.config import RetrievalConfig
from services.retrieval.regions import regions
from services.retrieval.runner import LONGEST_ON_LOOP, SearchRunner, typical_cost
from services.retrieval.search import CatalogueSearch, Wish
from services.retrieval.service import Parts, RetrievalService
from services.retrieval.wanted import Place, Wanted
from services.retrieval.web.brave import BASE_URL as BRAVE_URL
from services.retrieval.web.brave import brave
from services.retrieval.web.results import section_words
from services.retrieval.web.search import WebSearch
from services.retrieval.web.tavily import BASE_URL as TAVILY_URL
from services.retrieval.web.tavily import tavily

NAME = "headway.v1.RetrievalService"


async def serve(config: RetrievalConfig, shared: SharedConfig, stop: asyncio.Event) -> None:
    """Loads model and index first, then serves until ``stop`` is set: a retrieval that listens is ready."""
    # One thread a search: requests run side by side, and threads inside of one would get in their way.
    faiss.omp_set_num_threads(1)
    log = structlog.get_logger()
    try:
        travels = domain.load(config.domain)
        words = section_words(config.domain)
        places = regions(config.domain)
        encoder = await asyncio.to_thread(load, config.encoder, config.models)
        index = await asyncio.to_thread(_index, config, travels.name, encoder)
    except (domain.DomainError, EncoderError, IndexFileError, BrokenCatalogueError, OSError) as fault:
        raise process.Unusable(str(fault)) from fault
    catalogue = await asyncio.to_thread(CatalogueSearch, index, travels, places)
    cost = typical_cost(catalogue, [_probe(travels, index)], time.monotonic)
    async with AsyncExitStack() as lifetimes:
        web = await lifetimes.enter_async_context(_web(config))
        runner = SearchRunner(catalogue, on_loop=cost <= LONGEST_ON_LOOP)
        parts = Parts(
            domain=travels,
            catalogue=await lifetimes.enter_async_context(runner),
            model=index.model,
            dimensions=encoder.dimensions,
            embedder=await lifetimes.enter_async_context(BatchedEncoder(encoder)),
            web=web,
            words=words,
            per_section=config.per_section,
            web_cap=config.web_cap,
            web_floor=config.web_floor,
            web_results=config.web_results,
        )
        service = RetrievalService(parts)
        hosted = Hosted(
            name=NAME,
            register=lambda server: retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server(service, server),
            check=always_ready,
            watch=service.watch,
        )
        address = await lifetimes.enter_async_context(listening(config.listen, [hosted], shared))
        log.info(
            "listening",
            address=address,
            records=len(index.records),
            model=index.model,
            web=web.name if web else "none",
            search_ms=round(cost * 1000, 2),
            search_on="loop" if runner.on_loop else "threads",
        )
        await stop.wait()


def _index(config: RetrievalConfig, name: str, encoder: OnnxEncoder) -> Index:
    """The index, built anew when it is missing or stale, which is said."""
    result = opened(config.index, name, config.domain, encoder)
    if result.done:
        structlog.get_logger().info("index brought up to date", done=result.done)
    return result.index


def _probe(travels: domain.Domain, index: Index) -> Wish:
    """A search as most requests bring it: all sections, in the place with the most records."""
    cities = Counter(record.city for record in index.records)
    return Wish(
        query="family trip with kids, good food, quiet hotel",
        wanted=Wanted(places=tuple(Place(slug=city) for city, _ in cities.most_common(1))),
        sections=travels.section_names(),
        per_section=8,
        embedding=index.vectors[0] if len(index.vectors) else None,
    )


@asynccontextmanager
async def _web(config: RetrievalConfig) -> AsyncIterator[WebSearch | None]:
    """The adapter that is configured, with its connections, or None."""
    match config.web_provider():
        case "tavily":
            async with tavily(config.tavily_key, config.web_search_url or TAVILY_URL) as adapter:
                yield adapter
        case "brave":
            async with brave(config.brave_key, config.web_search_url or BRAVE_URL) as other:
                yield other
        case _:
            yield None


def main() -> int:
    """Runs until a signal; returns the exit code of ``headway.process``."""
    return process.run("retrieval", RetrievalConfig, serve, os.environ)


if __name__ == "__main__":
    sys.exit(main())
