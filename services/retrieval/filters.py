"""Which records may be shown, and which conditions are given up when too few are left.

Decides the order in which conditions give way. Kind, exclusions and excluded places never do. The others, first to
last:

    child_friendly     known to suit children; given up, what is not known counts too
    price_level        within the budget
    child_unsuitable   known not to suit children
    destination        only when a place has nothing at all of a kind, and only for places near it

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.retrieval.table import Mask, Rows, Table
from services.retrieval.wanted import Wanted

NEAR_KM = 100.0
"""How far a place may be from the one asked for to stand in for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Records that may be shown once ``given_up`` (empty for the first pool) no longer holds; none is in two pools."""

    given_up: str
    rows: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where to look: ``mask`` of the places asked for, the ``unknown`` ones among them, and whether any were asked
    for."""

    mask: Mask
    places: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    asked: bool = False


def scope_of(table: Table, wanted: Wanted) -> Scope:
    """Records at the places that a query names, all records when it names none, without places that it rules out."""
    allowed = table.everything()
    for place in wanted.no_places:
        allowed &= ~table.at(place.slug, place.text)
    if not wanted.places:
        return Scope(mask=allowed)
    found = ~table.everything()
    unknown = []
    for place in wanted.places:
        at = table.at(place.slug, place.text)
        found |= at
        if not at.any():
            unknown.append(place.slug)
    return Scope(mask=found & allowed, places=table.cities_of(found), unknown=tuple(unknown), asked=True)


def pools(table: Table, scope: Scope, wanted: Wanted, kinds: Sequence[str], enough: int) -> tuple[Pool, ...]:
    """What may be shown, best conditions first: further pools only until there are ``enough`` records or nothing is
    left to give up."""
    fixed = table.of_kinds(kinds) & _not_ruled_out(table, wanted)
    here = fixed & scope.mask
    if not here.any():
        return _nearby(table, scope, wanted, fixed)
    ladder = _ladder(table, wanted)
    found: list[Pool] = []
    taken = ~table.everything()
    for step in range(len(ladder) + 1):
        mask = here & ~taken
        for _, condition in ladder[step:]:
            mask &= condition
        rows = np.flatnonzero(mask)
        if rows.size or step == 0:
            found.append(Pool(given_up=ladder[step - 1][0] if step else "", rows=rows))
        taken |= mask
        if int(taken.sum()) >= enough:
            break
    return tuple(found)


def _ladder(table: Table, wanted: Wanted) -> list[tuple[str, Mask]]:
    """Conditions by name, the first to be given up first."""
    ladder: list[tuple[str, Mask]] = []
    if wanted.with_children:
        ladder.append(("child_friendly", table.child == 1))
    if wanted.most_price is not None:
        ladder.append(("price_level", (table.price >= 0) & (table.price <= wanted.most_price)))
    if wanted.with_children:
        ladder.append(("child_unsuitable", table.child != 0))
    return ladder


def _not_ruled_out(table: Table, wanted: Wanted) -> Mask:
    mask = table.everything()
    for tag in wanted.no_tags:
        mask &= ~table.tagged(tag)
    for word in wanted.no_words:
        mask &= ~table.mentioning(word)
    return mask


def _nearby(table: Table, scope: Scope, wanted: Wanted, fixed: Mask) -> tuple[Pool, ...]:
    """Records of cities near those asked for, nearest city first. Nothing for places that the catalogue does not
    have."""
    near = table.near(scope.places, NEAR_KM) if scope.places else ()
    allowed = fixed & scope_of(table, Wanted(no_places=wanted.no_places)).mask
    for city in near:
        rows = np.flatnonzero(allowed & table.in_cities([city]))
        if rows.size:
            return (Pool(given_up="destination", rows=rows),)
    return (Pool(given_up="", rows=np.zeros(0, dtype=np.int64)),)
