"""Builds what writing needs out of the configuration: domain, models, providers with their connections.

Decides which providers take part: those with a key. Knows the SDKs only by their ``connected``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog

from headway import domain as domains
from headway import floor
from headway.budget import Tier
from headway.deadline import Clock
from headway.domain import Domain
from services.generator import models
from services.generator.config import GeneratorConfig
from services.generator.ladder import Ladder, Writer
from services.generator.models import Model
from services.generator.providers import anthropic, openai
from services.generator.providers.anthropic import AnthropicProvider
from services.generator.providers.openai import OpenAIProvider
from services.generator.writing import Desk

WARM_SECONDS = 3.0
NO_MODEL = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One provider as configured, with its models."""

    provider: str
    url: str
    key: str
    models: tuple[Model, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Furnishing:
    """Everything read from files, checked, and nothing opened yet."""

    domain: Domain
    phrases: Mapping[str, floor.Phrases]
    endpoints: tuple[Endpoint, ...]
    warm_connections: int


def furnished(config: GeneratorConfig) -> Furnishing:
    """Reads what the configuration names. Raises DomainError, CatalogueError or PhrasesError."""
    return Furnishing(
        domain=domains.load(config.domain),
        phrases=floor.load(config.domain / floor.PHRASES_FILE),
        endpoints=tuple(chosen(config, models.load(config.model_catalogue))),
        warm_connections=config.warm_connections,
    )


@asynccontextmanager
async def opened(furnishing: Furnishing, *, clock: Clock) -> AsyncIterator[Desk]:
    """The desk with connected providers, for the life of the process."""
    endpoints = furnishing.endpoints
    async with AsyncExitStack() as lifetimes:
        providers = [await lifetimes.enter_async_context(_connected(endpoint)) for endpoint in endpoints]
        writers = [
            Writer(model=model, provider=provider)
            for endpoint, provider in zip(endpoints, providers, strict=True)
            for model in endpoint.models
        ]
        await _warm(endpoints, providers, furnishing.warm_connections)
        ladder = Ladder(writers, clock=clock)
        yield Desk(ladder=ladder, domain=furnishing.domain, phrases=furnishing.phrases, clock=clock)


def chosen(config: GeneratorConfig, catalogue: models.ModelCatalogue) -> list[Endpoint]:
    """The providers that have a key, the preferred one first. Raises CatalogueError for a model that nothing is
    known of."""
    wanted = [
        (
            "anthropic",
            config.anthropic_url,
            config.anthropic_key or config.anthropic_key_fallback,
            config.anthropic_large,
            config.anthropic_small,
        ),
        (
            "openai",
            config.openai_url,
            config.openai_key or config.openai_key_fallback,
            config.openai_large,
            config.openai_small,
        ),
    ]
    endpoints = [
        Endpoint(
            provider=provider,
            url=url,
            key=key,
            models=tuple(
                catalogue.model(provider, name, tier)
                for name, tier in ((large, Tier.LARGE), (small, Tier.SMALL))
                if name not in ("", NO_MODEL)
            ),
        )
        for provider, url, key, large, small in wanted
        if key
    ]
    return sorted(endpoints, key=lambda endpoint: endpoint.provider != config.preferred)


def _connected(endpoint: Endpoint) -> AbstractAsyncContextManager[AnthropicProvider | OpenAIProvider]:
    if endpoint.provider == "anthropic":
        return anthropic.connected(base_url=endpoint.url, api_key=endpoint.key)
    return openai.connected(base_url=endpoint.url, api_key=endpoint.key)


async def _warm(
    endpoints: Sequence[Endpoint], providers: Sequence[AnthropicProvider | OpenAIProvider], connections: int
) -> None:
    """Opens connections to all providers; a provider that cannot be reached now may be reached later."""
    log = structlog.get_logger()
    faults = await asyncio.gather(*(provider.warm(connections, WARM_SECONDS) for provider in providers))
    for endpoint, fault in zip(endpoints, faults, strict=True):
        names = [model.name for model in endpoint.models]
        if fault:
            log.warning("provider cannot be reached", provider=endpoint.provider, url=endpoint.url, why=fault)
        else:
            log.info("provider ready", provider=endpoint.provider, url=endpoint.url, models=names)
    if not endpoints:
        log.warning("no provider has a key: the floor writes all items")
