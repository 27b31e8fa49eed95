"""What the tests of the router share: one slot finder over the domain that ships."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from headway import domain
from headway.slots import Relation, Slot
from services.router.found import clean
from services.router.slots import Findings, SlotFinder

TRAVEL = Path(__file__).resolve().parents[2] / "domains" / "travel"
SIGNS = {Relation.EQUAL: "", Relation.AT_MOST: "<=", Relation.AT_LEAST: ">=", Relation.EXCLUDED: "not "}


@cache
def finder() -> SlotFinder:
    """Built once: the gazetteer takes half a second."""
    return SlotFinder(domain.load(TRAVEL))


def findings(query: str) -> Findings:
    return finder().find(clean(query))


def said(query: str, *names: str) -> list[str]:
    """The slots of those names as short texts: ``not busan``, ``<=100000 KRW``, or ``nights 3`` for several names."""
    return [
        (f"{slot.name} " if len(names) > 1 else "") + _short(slot)
        for slot in findings(query).slots
        if slot.name in names
    ]


def _short(slot: Slot) -> str:
    return f"{SIGNS[slot.relation]}{slot.value} {slot.unit}".strip()
