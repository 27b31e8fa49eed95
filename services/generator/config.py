"""What may be set for the generator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headway.settings import address, one_of, path, positive_span, setting, whole, words
from services.generator.models import BUILT_IN as BUILT_IN_MODELS


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorConfig:
    """Settings of the generator service."""

    listen: str = setting("HEADWAY_GENERATOR_LISTEN", address, "127.0.0.1:50054", "address to serve on")
    domain: Path = setting("HEADWAY_DOMAIN", path, "domains/travel", "folder of the domain")
    model_catalogue: Path = setting(
        "HEADWAY_MODEL_CATALOGUE", path, str(BUILT_IN_MODELS), "file with the models, their prices and their pace"
    )
    first_item_within: float = setting(
        "HEADWAY_GENERATOR_FIRST_ITEM_WITHIN",
        positive_span,
        "1200ms",
        "wish for a first item where the caller has none; not for complex queries, which may take longer",
    )
    warm_connections: int = setting(
        "HEADWAY_GENERATOR_WARM_CONNECTIONS", whole(0, 64), "4", "connections opened to each provider at start"
    )
    anthropic_key: str = setting(
        "HEADWAY_ANTHROPIC_API_KEY", words, "", "key for Anthropic; ANTHROPIC_API_KEY is taken as well", secret=True
    )
    anthropic_key_fallback: str = setting(
        "ANTHROPIC_API_KEY", words, "", "used when the one above is not set", secret=True
    )
    anthropic_url: str = setting(
        "HEADWAY_ANTHROPIC_BASE_URL", words, "https://api.anthropic.com", "where Anthropic's API is"
    )
    anthropic_large: str = setting(
        "HEADWAY_ANTHROPIC_LARGE_MODEL", words, "claude-sonnet-5-5", "model of the large tier; a dash for none"
    )
    anthropic_small: str = setting(
        "HEADWAY_ANTHROPIC_SMALL_MODEL", words, "claude-haiku-5-5", "model of the small tier; a dash for none"
    )
    openai_key: str = setting(
        "HEADWAY_OPENAI_API_KEY", words, "", "key for OpenAI; OPENAI_API_KEY is taken as well", secret=True
    )
    openai_key_fallback: str = setting("OPENAI_API_KEY", words, "", "used when the one above is not set", secret=True)
    openai_url: str = setting(
        "HEADWAY_OPENAI_BASE_URL", words, "https://api.openai.com/v1", "where OpenAI's API or a compatible server is"
    )
    openai_api: str = setting(
        "HEADWAY_OPENAI_API",
        one_of("chat", "responses"),
        "chat",
        "which of OpenAI's two APIs is asked; compatible servers know chat, few of them responses",
    )
    openai_large: str = setting(
        "HEADWAY_OPENAI_LARGE_MODEL", words, "gpt-6.1-sol", "model of the large tier; a dash for none"
    )
    openai_small: str = setting(
        "HEADWAY_OPENAI_SMALL_MODEL", words, "gpt-6-luna", "model of the small tier; a dash for none"
    )
    preferred: str = setting(
        "HEADWAY_PREFERRED_PROVIDER", one_of("anthropic", "openai"), "anthropic", "provider asked first within a tier"
    )
