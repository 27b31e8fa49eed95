"""The models of the experiment, those the product uses unless told otherwise, and what they cost.

Prices are read from the product's own list, as data. Decides nothing else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.ledger import Usage

PRICES = Path(__file__).parent.parent.parent / "services" / "generator" / "models.toml"
SMALL, LARGE = "small", "large"
MODELS: Mapping[str, str] = {SMALL: "claude-haiku-5-5", LARGE: "claude-sonnet-5-5"}
"""By tier."""
_PER_MILLION = 1e-6


def prices(path: Path = PRICES) -> Mapping[str, Mapping[str, float]]:
    """US dollars per million tokens by tier: input, output, cache_read, cache_write. Raises KeyError when the list has
    no such model."""
    listed: dict[str, Mapping[str, Any]] = {
        each["name"]: each["prices"] for each in tomllib.loads(path.read_text(encoding="utf-8"))["model"]
    }
    return {tier: listed[name] for tier, name in MODELS.items()}


def used(told: Any, price: Mapping[str, float]) -> Usage:
    """The usage that an SDK's answer reports, with its cost. The provider's `input_tokens` leave out what the cache
    took part in; ours do not."""
    read, written = told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0
    plain, output = told.input_tokens or 0, told.output_tokens or 0
    dollars = (
        plain * price["input"] + output * price["output"] + read * price["cache_read"] + written * price["cache_write"]
    )
    return Usage(
        input_tokens=plain + read + written,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cost_usd=dollars * _PER_MILLION,
    )
