"""What a query says, as values that do not depend on its language.

Decides nothing; a vocabulary shared by the service that finds slots and those that use them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Relation(IntEnum):
    """How a slot's value is meant; numbers of ``headway.v1.SlotRelation``."""

    UNSPECIFIED = 0
    EQUAL = 1
    AT_MOST = 2
    AT_LEAST = 3
    EXCLUDED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One thing that the query says: ``name`` its subject, ``value`` canonical, ``text`` the words that said it."""

    name: str
    value: str
    text: str = ""
    relation: Relation = Relation.EQUAL
    number: float | None = None
    unit: str = ""


def wanted(slots: Iterable[Slot], name: str) -> tuple[str, ...]:
    """Values of the slots of that name that are not excluded, in order."""
    return tuple(slot.value for slot in slots if slot.name == name and slot.relation is not Relation.EXCLUDED)


def excluded(slots: Iterable[Slot], name: str) -> tuple[str, ...]:
    """Values of the slots of that name that the query rules out, in order."""
    return tuple(slot.value for slot in slots if slot.name == name and slot.relation is Relation.EXCLUDED)
