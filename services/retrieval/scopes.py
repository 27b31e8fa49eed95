"""Where to look: the places that a query names, each of which is to be represented.

Decides which records lie at them, that a country named beside a city in it only says where that city is, and that a
place which nobody has is unknown rather than somewhere else. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.catalogue.geography import country_code, country_of_city
from services.retrieval.regions import Regions
from services.retrieval.table import Mask, Table
from services.retrieval.wanted import Place, Wanted

MOST_PARTS = 6
"""Places beyond that share what is left of a section among them as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The records at one place, and the cities that they lie in."""

    mask: Mask
    cities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The ``parts`` asked for, at least one; ``allowed``: all that is not ruled out; ``unknown``: places that the
    catalogue does not have; ``asked``: whether the query names any."""

    parts: tuple[Part, ...]
    allowed: Mask
    unknown: tuple[str, ...] = ()
    asked: bool = False

    @property
    def mask(self) -> Mask:
        """Records of any part."""
        joined: Mask = np.logical_or.reduce([part.mask for part in self.parts])
        return joined


def scope_of(table: Table, wanted: Wanted, known: Regions) -> Scope:
    """Records at the places that a query names, all records when it names none, without places that it rules out."""
    allowed = table.everything()
    for place in wanted.no_places:
        allowed &= ~_at(table, place, known)
    if not wanted.places:
        return Scope(parts=(Part(mask=allowed),), allowed=allowed)
    found = [(place, _at(table, place, known)) for place in wanted.places]
    unknown = tuple(place.slug for place, mask in found if not mask.any())
    masks = [mask for place, mask in found if mask.any() and not _is_country_of(place, unknown)]
    narrow = _distinct([mask for mask in masks if not any(_is_within(other, mask) for other in masks)])
    parts = [*narrow[: MOST_PARTS - 1], *_joined(narrow[MOST_PARTS - 1 :])] or [~table.everything()]
    return Scope(
        parts=tuple(Part(mask=mask & allowed, cities=table.cities_of(mask)) for mask in parts),
        allowed=allowed,
        unknown=unknown,
        asked=True,
    )


def in_city(table: Table, scope: Scope, city: str) -> Scope:
    """The scope kept to one city."""
    part = Part(mask=scope.mask & table.in_cities([city]), cities=(city,))
    return Scope(parts=(part,), allowed=scope.allowed)


def _at(table: Table, place: Place, known: Regions) -> Mask:
    cities = known.cities.get(place.slug)
    return table.in_cities(cities) if cities else table.at(place.slug, place.text)


def _is_country_of(place: Place, cities: Sequence[str]) -> bool:
    """France beside Nice, which is not there, is not to be answered with Paris."""
    code = country_code(place.slug) if cities else ""
    return bool(code) and any(country_of_city(city) == code for city in cities)


def _is_within(inner: Mask, outer: Mask) -> bool:
    """Whether all records of ``inner`` are some of those of ``outer``."""
    return bool(inner.sum() < outer.sum()) and not bool((inner & ~outer).any())


def _distinct(masks: Sequence[Mask]) -> list[Mask]:
    kept: list[Mask] = []
    for mask in masks:
        if not any(np.array_equal(mask, other) for other in kept):
            kept.append(mask)
    return kept


def _joined(masks: Sequence[Mask]) -> list[Mask]:
    return [np.logical_or.reduce(masks)] if masks else []
