"""All slots of a query, out of the finders for each kind.

Decides the order in which finders look and which words are set aside from whom: a place's name is no theme, a phrase
that only looks like a theme is none. The same text always gives the same slots.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.domain import Domain, DomainError
from headway.slots import Relation, Slot
from services.router import dates, durations, exclusions, gazetteer, money
from services.router.found import Found, Text, blank, overlaps
from services.router.landmarks import landmarks
from services.router.lexicon import Lexicon
from services.router.party import PartyFinder
from services.router.places import PlaceFinder
from services.router.sections import SectionFinder, speaks_of_a_trip
from services.router.themes import ThemeFinder

MAX_SLOTS = 64
_WORD = re.compile(r"[^\W_]+")
_PLAIN = frozenset(["nights", "days", "date", "month", "budget", "party_size", "adults"])
KINDS = ("destination", "duration", "party", "budget", "date", "theme", "section", "exclusion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The slots of a text, and the text without the values among them, which says more clearly what is asked for.

    ``rest`` are the words that no slot covers and that say something of their own; ``whole_place``: a whole place is
    named, not only a part of one or a way from one to another; ``trip``: there is a word for a trip.
    """

    slots: tuple[Slot, ...]
    bare: str
    rest: tuple[str, ...] = ()
    whole_place: bool = False
    trip: bool = False


class SlotFinder:
    """Finds what a query says. Built once from a domain; ``find`` keeps no state."""

    def __init__(self, domain: Domain, cities: Iterable[tuple[str, str, bool]] | None = None) -> None:
        """Reads ``slots.toml`` and ``places.toml`` of the domain; a domain without them has themes and exclusions.

        ``cities`` replaces the gazetteer. Raises DomainError, naming the file, when one is not well-formed.
        """
        settings = _optional(domain.root / "slots.toml")
        self._kinds = frozenset(settings.get("find", ("theme", "exclusion")))
        if unknown := self._kinds - set(KINDS):
            raise DomainError(
                f"{domain.root / 'slots.toml'}: find names {sorted(unknown)}; known are {', '.join(KINDS)}"
            )
        self._set_aside = Lexicon(
            ((phrase, True) for phrase in settings.get("set_aside", ())), korean_inside_words=True
        )
        self._party = PartyFinder(settings.get("party", {}), settings.get("children", {}).get("words", ()))
        self._themes = ThemeFinder(domain.tags)
        self._sections = SectionFinder(settings.get("section", {}))
        filler = sorted((re.escape(word.lower()) for word in settings.get("filler", ())), key=len, reverse=True)
        self._filler = re.compile(f"(?:{'|'.join(filler)})+") if filler else None
        if "destination" in self._kinds:
            names = _optional(domain.root / "places.toml")
            known = gazetteer.cities() if cities is None else cities
            self._places = PlaceFinder(names, known, landmarks(domain.root))

    def find(self, text: Text) -> Findings:
        """The slots in the order in which the text says them, at most MAX_SLOTS, and the text without plain values."""
        places, origins = self._places.find_with_origins(text) if "destination" in self._kinds else ([], [])
        rest = blank(text, ((each.start, each.end) for each in places))
        words = blank(rest, ((match.start, match.end) for match in self._set_aside.find(rest.lower)))
        found = [*places]
        when = dates.find(text.shown, rest.lower) if "date" in self._kinds else []
        found += when
        if "duration" in self._kinds:
            # 5월 3일 is no length of a trip; 이번 주말 is a date and says how long, too.
            days_of_months = [(each.start, each.end) for each in when if each.slot.value[-1:].isdigit()]
            found += durations.find(text.shown, blank(rest, days_of_months).lower)
        if "party" in self._kinds:
            found += self._party.find(text.shown, words.lower)
        if "budget" in self._kinds:
            found += money.find(text.shown, rest.lower)
        themes = self._themes.find(text.shown, words.lower) if "theme" in self._kinds else []
        found += themes
        sections: list[Found] = []
        if "section" in self._kinds:
            stays = any(each.slot.name == "nights" and (each.slot.number or 0) >= 1 for each in found)
            sections = self._sections.find(text.shown, words.lower, themes, stays=stays)
        if "exclusion" in self._kinds:
            ruled_out = [each for each in sections if each.slot.relation is Relation.EXCLUDED]
            out = exclusions.find(text.shown, text.lower, [*found, *ruled_out])
            # "no spicy food" asks for no food in particular.
            sections = [each for each in sections if not overlaps(each.start, each.end, out)]
            found += out
        found += sections
        return Findings(
            slots=_in_order(found),
            bare=_bare(text, found),
            rest=self._rest(blank(text, origins), found),
            whole_place=any(each.whole for each in found) and not origins,
            trip=speaks_of_a_trip(text.lower),
        )

    def _rest(self, text: Text, found: list[Found]) -> tuple[str, ...]:
        """The words outside of every slot that say something of their own: 비행기 does, 추천 and "in" do not."""
        outside = blank(text, ((each.start, each.end) for each in found))
        words = _WORD.findall(blank(outside, self._sections.spans(outside.lower)).lower)
        return tuple(word for word in words if self._filler is None or not self._filler.fullmatch(word))


def _bare(text: Text, found: list[Found]) -> str:
    """The text without the words that only say a value; the whole text when nothing else is in it."""
    plain = [each for each in found if each.plain or each.slot.name in _PLAIN]
    shown = list(text.shown)
    for each in plain:
        shown[each.start : each.end] = " " * (each.end - each.start)
    return " ".join("".join(shown).split()) or text.shown


def _in_order(found: list[Found]) -> tuple[Slot, ...]:
    """By place in the text; slots from the same words keep the order in which they were found."""
    return tuple(each.slot for each in sorted(found, key=lambda each: each.start)[:MAX_SLOTS])


def _optional(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as fault:
        raise DomainError(f"{path}: {fault}") from fault
