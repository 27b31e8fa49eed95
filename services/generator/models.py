"""The catalogue of models, as data: what a model costs, what it can and what it is expected to take.

Decides what the file must hold and what a call costs. Knows no provider's protocol and makes no choice between
models.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from headway.budget import Tier
from headway.ledger import Usage

BUILT_IN = Path(__file__).with_name("models.toml")
TIERS = {"small": Tier.SMALL, "large": Tier.LARGE}
ANY = "*"
_PER_MILLION = 1e-6


class CatalogueError(ValueError):
    """The catalogue of models cannot be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a model is expected to be; seconds. ``ttft``: to the first token, ``tpot``: per output token after
    it."""

    ttft_p50: float
    ttft_p95: float
    tpot_p50: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    def cost(self, usage: Usage) -> float:
        """What that usage costs, in US dollars; ``cost_usd`` of the usage is not looked at."""
        plain = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        return _PER_MILLION * (
            plain * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of one provider. ``pace`` is with a prefix that is not in the provider's cache, ``cached_pace``
    with one that is."""

    provider: str
    name: str
    tier: Tier
    pace: Pace
    cached_pace: Pace
    prices: Prices = Prices()
    cache_minimum_tokens: int = 1024
    structured_output: bool = False
    limit_field: str = "max_completion_tokens"
    vendor_options: bool = True
    effort: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCatalogue:
    """Models by provider and name, and the pace of each tier."""

    models: tuple[Model, ...]
    paces: Mapping[Tier, tuple[Pace, Pace]]

    def model(self, provider: str, name: str, tier: Tier) -> Model:
        """That model in that tier. A name that is not listed is taken for the provider's entry ``*``.

        Raises CatalogueError when there is no such entry either.
        """
        ours = [each for each in self.models if each.provider == provider]
        found = next((each for each in ours if each.name == name), None)
        found = found or next((each for each in ours if each.name == ANY), None)
        if found is None:
            raise CatalogueError(f"model {name!r} of provider {provider!r} is not in the catalogue, nor is {ANY!r}")
        pace, cached_pace = self.paces[tier]
        return replace(found, name=name, tier=tier, pace=pace, cached_pace=cached_pace)


def load(path: Path) -> ModelCatalogue:
    """Reads a catalogue file. Raises CatalogueError naming the file and the first thing that is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        paces = {TIERS[name]: _paces(values) for name, values in data["tiers"].items()}
        if missing := set(TIERS.values()) - set(paces):
            raise CatalogueError(f"{path}: no [tiers.{min(missing).name.lower()}]")
        models = tuple(_model(entry, paces) for entry in data["model"])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise CatalogueError(f"{path}: cannot be read: {fault}") from fault
    except KeyError as missing_key:
        raise CatalogueError(f"{path}: {missing_key.args[0]!r} is missing or not known") from missing_key
    except TypeError as fault:
        raise CatalogueError(f"{path}: {fault}") from fault
    return ModelCatalogue(models=models, paces=paces)


def _paces(values: Mapping[str, Any]) -> tuple[Pace, Pace]:
    numbers = {name: _positive(name, value) for name, value in values.items()}
    cold = Pace(ttft_p50=numbers["ttft_p50"], ttft_p95=numbers["ttft_p95"], tpot_p50=numbers["tpot_p50"])
    cached = Pace(
        ttft_p50=numbers["cached_ttft_p50"], ttft_p95=numbers["cached_ttft_p95"], tpot_p50=numbers["tpot_p50"]
    )
    return cold, cached


def _model(entry: Mapping[str, Any], paces: Mapping[Tier, tuple[Pace, Pace]]) -> Model:
    known = {field.name for field in fields(Model)}
    if unknown := set(entry) - known:
        raise CatalogueError(f"model {entry.get('name')!r}: {sorted(unknown)} is not known")
    tier = TIERS[entry["tier"]]
    prices = Prices(**{name: _not_negative(name, value) for name, value in entry.get("prices", {}).items()})
    pace, cached_pace = paces[tier]
    return Model(**{**entry, "tier": tier, "prices": prices, "pace": pace, "cached_pace": cached_pace})


def _positive(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise CatalogueError(f"{name} must be a number above zero, not {value!r}")
    return float(value)


def _not_negative(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise CatalogueError(f"price {name} must be a number, zero or more, not {value!r}")
    return float(value)
