"""Builds what writing needs out of the configuration: domain, models, providers with their connections.

Decides which providers take part: those with a key. Knows the SDKs only by their ``connected``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

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
from services.generator.providers import anthropic, openai, openai_responses
from services.generator.upstream import Provider
from services.generator.warming import Warmable, warmed
from services.generator.writing import Desk

NO_MODEL = "-"


class Connected(Provider, Warmable, Protocol):
    """A provider with its connections."""


_WIRES: Mapping[tuple[str, str], Callable[..., AbstractAsyncContextManager[Connected]]] = {
    ("anthropic", "messages"): anthropic.connected,
    ("openai", "chat"): openai.connected,
    ("openai", "responses"): openai_responses.connected,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One provider as configured, with its models. ``api`` tells apart the APIs of a provider that has several."""

    provider: str
    api: str
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
        _announce(endpoints)
        named = {endpoint.provider: provider for endpoint, provider in zip(endpoints, providers, strict=True)}
        warming = await lifetimes.enter_async_context(warmed(named, connections=furnishing.warm_connections))
        yield Desk(
            ladder=Ladder(writers, clock=clock),
            domain=furnishing.domain,
            phrases=furnishing.phrases,
            clock=clock,
            lost=warming.lost,
        )


def chosen(config: GeneratorConfig, catalogue: models.ModelCatalogue) -> list[Endpoint]:
    """The providers that have a key, the preferred one first. Raises CatalogueError for a model that nothing is
    known of."""
    wanted = [
        (
            "anthropic",
            "messages",
            config.anthropic_url,
            config.anthropic_key or config.anthropic_key_fallback,
            config.anthropic_large,
            config.anthropic_small,
        ),
        (
            "openai",
            config.openai_api,
            config.openai_url,
            config.openai_key or config.openai_key_fallback,
            config.openai_large,
            config.openai_small,
        ),
    ]
    endpoints = [
        Endpoint(
            provider=provider,
            api=api,
            url=url,
            key=key,
            models=tuple(
                catalogue.model(provider, name, tier)
                for name, tier in ((large, Tier.LARGE), (small, Tier.SMALL))
                if name not in ("", NO_MODEL)
            ),
        )
        for provider, api, url, key, large, small in wanted
        if key
    ]
    return sorted(endpoints, key=lambda endpoint: endpoint.provider != config.preferred)


def _connected(endpoint: Endpoint) -> AbstractAsyncContextManager[Connected]:
    return _WIRES[endpoint.provider, endpoint.api](base_url=endpoint.url, api_key=endpoint.key)


def _announce(endpoints: Sequence[Endpoint]) -> None:
    log = structlog.get_logger()
    for endpoint in endpoints:
        names = [model.name for model in endpoint.models]
        log.info("provider configured", provider=endpoint.provider, api=endpoint.api, url=endpoint.url, models=names)
    if not endpoints:
        log.warning("no provider has a key: the floor writes all items")
