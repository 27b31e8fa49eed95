"""Which records may be shown, and which conditions are given up when too few are left.

Decides the order in which conditions give way, and that they do so only until there is enough. Kind, exclusions and
excluded places never do. The others, first to last:

    child_friendly     known to suit children; given up, what is not known counts too
    price_unknown      known to be within the budget; given up, what is not known counts too
    price_level        within the budget; given up one level after the other, so the cheaper come first
    child_unsuitable   known not to suit children
    destination        only when a place has nothing at all of a kind, and only for places near it

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.retrieval.scopes import Part
from services.retrieval.table import UNKNOWN, Mask, Rows, Table
from services.retrieval.wanted import Wanted

NEAR_KM = 100.0
"""How far a place may be from the one asked for to stand in for it."""
_DEAREST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Records that may be shown once ``given_up`` (empty for the first pool) no longer holds; none is in two pools."""

    given_up: str
    rows: Rows


def pools(
    table: Table, part: Part, elsewhere: Mask, wanted: Wanted, kinds: Sequence[str], enough: int
) -> tuple[Pool, ...]:
    """What may be shown of one place, best conditions first: further pools only until there are ``enough`` records or
    nothing is left to give up. ``elsewhere``: what may stand in for a place without anything of these kinds."""
    fixed = table.of_kinds(kinds) & not_ruled_out(table, wanted)
    here = fixed & part.mask
    if not here.any():
        return _nearby(table, part, fixed & elsewhere)
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


def not_ruled_out(table: Table, wanted: Wanted) -> Mask:
    """Records without the tags and words that a query rules out."""
    mask = table.everything()
    for tag in wanted.no_tags:
        mask &= ~table.tagged(tag)
    for word in wanted.no_words:
        mask &= ~table.mentioning(word)
    return mask


def _ladder(table: Table, wanted: Wanted) -> list[tuple[str, Mask]]:
    """Conditions by name, the first to be given up first."""
    ladder: list[tuple[str, Mask]] = []
    if wanted.with_children:
        ladder.append(("child_friendly", table.child == 1))
    if wanted.most_price is not None:
        ladder.append(("price_unknown", table.price != UNKNOWN))
        ladder += [("price_level", table.price <= most) for most in range(wanted.most_price, _DEAREST)]
    if wanted.with_children:
        ladder.append(("child_unsuitable", table.child != 0))
    return ladder


def _nearby(table: Table, part: Part, allowed: Mask) -> tuple[Pool, ...]:
    """Records of cities near a place, the nearest city. Nothing for places that the catalogue does not have."""
    for city in table.near(part.cities, NEAR_KM) if part.cities else ():
        rows = np.flatnonzero(allowed & table.in_cities([city]))
        if rows.size:
            return (Pool(given_up="destination", rows=rows),)
    return (Pool(given_up="", rows=np.zeros(0, dtype=np.int64)),)
