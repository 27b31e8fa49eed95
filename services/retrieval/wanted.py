"""What a query wants, as conditions on records: slots read as wishes.

Decides what party, budget, themes and exclusions mean for a record. Pure; knows neither the catalogue nor how
conditions are applied.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from headway.slots import Relation, Slot, wanted

_WITH_CHILDREN = frozenset({"family", "kids", "children", "child", "toddlers", "baby"})
_THEMES_OF_PARTY = {
    "family": ("family", "kids"),
    "kids": ("kids", "family"),
    "children": ("kids", "family"),
    "couple": ("couple",),
    "solo": ("solo",),
}
_CHEAP = frozenset({"low", "cheap", "budget"})
_DEAR = frozenset({"high", "luxury", "premium", "expensive"})
# US dollars for one unit, to the precision that a choice between four price levels needs.
_DOLLARS = {
    "USD": 1.0, "KRW": 0.00073, "JPY": 0.0067, "EUR": 1.1, "GBP": 1.3, "CNY": 0.14, "TWD": 0.031, "THB": 0.03,
    "AUD": 0.66, "CAD": 0.73, "HKD": 0.13, "SGD": 0.76, "VND": 0.00004,
}  # fmt: skip
# Dollars that a person spends in a day at price level 1, 2 and 3; more is level 4.
_A_DAY = (60.0, 150.0, 350.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place as the query names it: its slug and the words that said it."""

    slug: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Conditions on records.

    ``most_price`` None: any. ``least_price`` is a preference, not a limit, and so are ``themes``, the tags that the
    query names, and ``suggested``, further tags that its party suggests. ``topics`` are the themes again, together
    those that the same words name. ``nights`` 0: not said, or none. ``spoken`` are words that conditions cover, of no
    use to a text search.
    """

    places: tuple[Place, ...] = ()
    no_places: tuple[Place, ...] = ()
    with_children: bool = False
    most_price: int | None = None
    least_price: int | None = None
    themes: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    topics: tuple[tuple[str, ...], ...] = ()
    nights: int = 0
    no_tags: tuple[str, ...] = ()
    no_words: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()


def wanted_from(slots: Sequence[Slot], tags: Container[str], *, intent: str = "") -> Wanted:
    """The conditions that slots stand for; ``tags`` are those the domain knows."""
    with_children = _has_children(slots)
    themes = [value for value in wanted(slots, "theme") if value in tags]
    topics = _topics(slots, tags)
    words = {slot.text for slot in slots if slot.name == "theme"}
    suggested = [theme for party in wanted(slots, "party") for theme in _THEMES_OF_PARTY.get(party, ())]
    ruled_out = [slot for slot in slots if _rules_out(slot)]
    most, least = _prices(slots, intent)
    return Wanted(
        places=tuple(_places(slots, Relation.EQUAL)),
        no_places=tuple(_places(slots, Relation.EXCLUDED)),
        with_children=with_children,
        most_price=most,
        least_price=least,
        themes=tuple(dict.fromkeys(themes)),
        suggested=tuple(dict.fromkeys(each for each in suggested if each in tags and each not in themes)),
        topics=topics,
        nights=int(max((_number(slot) for slot in slots if slot.name == "nights"), default=0.0)),
        no_tags=tuple(dict.fromkeys(slot.value for slot in ruled_out if slot.value in tags)),
        no_words=tuple(dict.fromkeys(slot.value for slot in ruled_out if slot.value and slot.value not in tags)),
        spoken=tuple(slot.text for slot in slots if slot.text and slot.name != "theme" and slot.text not in words),
    )


def price_of(dollars_a_day: float) -> int:
    """The price level, 1 to 4, that a person with that many dollars a day can pay."""
    return 1 + sum(dollars_a_day >= limit for limit in _A_DAY)


def _places(slots: Iterable[Slot], relation: Relation) -> Iterable[Place]:
    for slot in slots:
        excluded = slot.relation is Relation.EXCLUDED
        if slot.name == "destination" and slot.value and excluded is (relation is Relation.EXCLUDED):
            yield Place(slug=slot.value, text=slot.text)


def _topics(slots: Sequence[Slot], tags: Container[str]) -> tuple[tuple[str, ...], ...]:
    """Themes by the words that name them: 온천 is both of hot-spring and onsen."""
    topics: dict[str, list[str]] = {}
    for slot in slots:
        if slot.name == "theme" and slot.relation is not Relation.EXCLUDED and slot.value in tags:
            topics.setdefault(slot.text or slot.value, []).append(slot.value)
    return tuple(tuple(each) for each in topics.values())


def _has_children(slots: Sequence[Slot]) -> bool:
    counted = any(
        slot.name == "children" and _number(slot) > 0 for slot in slots if slot.relation is not Relation.EXCLUDED
    )
    return counted or any(party in _WITH_CHILDREN for party in wanted(slots, "party"))


def _rules_out(slot: Slot) -> bool:
    """An exclusion is one whatever its relation says; a theme that is excluded is one as well."""
    return slot.name == "exclusion" or (slot.name == "theme" and slot.relation is Relation.EXCLUDED)


def _prices(slots: Sequence[Slot], intent: str) -> tuple[int | None, int | None]:
    most = least = None
    for slot in slots:
        if slot.name != "budget" or slot.relation is Relation.EXCLUDED:
            continue
        if slot.value in _CHEAP:
            most = 2
        elif slot.value in _DEAR:
            least = 3
        elif slot.number is not None and slot.number > 0 and slot.unit.upper() in _DOLLARS:
            level = price_of(_dollars_a_day(slot, slots, intent))
            if slot.relation is Relation.AT_LEAST:
                least = level
            else:
                most = level
    return most, least


def _dollars_a_day(budget: Slot, slots: Sequence[Slot], intent: str) -> float:
    """A budget is that of the whole party for the whole stay; that of a search for lodging is what a night may cost."""
    dollars = (budget.number or 0.0) * _DOLLARS[budget.unit.upper()]
    if intent == "lodging_search":
        return dollars
    nights = max((_number(slot) for slot in slots if slot.name == "nights"), default=0.0)
    days = max((_number(slot) for slot in slots if slot.name == "days"), default=nights + 1)
    people = max((_number(slot) for slot in slots if slot.name == "party_size"), default=0.0)
    people = people or sum(_number(slot) for slot in slots if slot.name in ("adults", "children"))
    return dollars / max(1.0, days) / max(1.0, people)


def _number(slot: Slot) -> float:
    if slot.number is not None:
        return slot.number
    return float(slot.value) if slot.value.isdecimal() else 1.0 if slot.value else 0.0
