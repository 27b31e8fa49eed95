"""What retrieval must know of a domain's places: whether trips go to them, and which cities a region holds.

Reads the domain's ``places.toml``; a domain without that file recommends what lies nowhere in particular, and then no
place is ever assumed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from headway.domain import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """``trips``: what is recommended must lie in one place when the query names none. ``cities``: those of a region, by
    its slug."""

    trips: bool = False
    cities: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


def regions(domain_root: Path) -> Regions:
    """Reads ``places.toml`` of a domain. Raises DomainError when it is not well-formed."""
    path = domain_root / "places.toml"
    try:
        places = tomllib.loads(path.read_text(encoding="utf-8")).get("place", {})
        cities = {slug: tuple(data["cities"]) for slug, data in places.items() if "cities" in data}
    except FileNotFoundError:
        return Regions()
    except (OSError, ValueError, TypeError, AttributeError) as fault:
        raise DomainError(f"{path}: {fault}") from fault
    return Regions(trips=True, cities=MappingProxyType(cities))
