"""Which parts of an answer a query asks for: 제주 맛집, "things to do in London", 京都の旅館.

Decides when words for places to stay, to eat or to see narrow an answer to those, and when they are only what a trip
is to be about. Which words they are is the domain's data; what is narrowed is decided by whoever fills sections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headway.slots import Relation, Slot
from services.router import negation
from services.router.found import Found, overlaps
from services.router.lexicon import Lexicon

# A hotel near restaurants is no restaurant.
_NEAR_AFTER = re.compile(
    r"(?:들)?(?:이|가|과|와|에|에서|이랑|랑|의|の|から|に)?\s?(?:근처|주변|인근|부근|옆|앞|가까|많은|近く|近い|周辺|そば|付近)"
)
_NEAR_BEFORE = re.compile(
    r"\b(?:near|nearby|close to|next to|around|beside|by|opposite|walking distance (?:to|of|from)|with|has|have)\s"
    r"(?:(?:the|a|an|some|any|good|great|my|our|many|of|lots|plenty)\s)*$"
)
# 숙소는 예약했어: it is there already.
_SETTLED_AFTER = re.compile(
    r"(?:은|는|이|가|을|를)?\s?(?:이미\s?|다\s?)?(?:있(?:어|으|고|는)"
    r"|예약했|예약해 ?[놨뒀둔놓]|예약 ?완료|정했|정해 ?[놨뒀]|잡았|잡아 ?[놨뒀]|구했|해결)"
    r"|\s?(?:is|are)\s(?:already\s)?(?:booked|sorted|covered|settled)|は(?:もう)?(?:予約済み|取って|決まって|取った)"
)
_SETTLED_BEFORE = re.compile(
    r"\b(?:already (?:have|booked|got|found)|have (?:already )?booked|booked)\s(?:(?:a|an|the|our|my)\s)?$"
)
_ASKED_AFTER = re.compile(
    r"(?:들)?(?:을|를|만|도|이|은|는|でも|を|は|が|だけ)?\s?(?:좀\s?|몇 ?(?:군데|곳|개)\s?|リスト)?"
    r"(?:추천|알려|어디|찾아|골라|소개|리스트|목록|정리|있을까|있나|뭐 ?있|만(?![가-힣])"
    r"|おすすめ|お勧め|教えて|探し|どこ"
    r"|\s?(?:recommendations?|suggestions?|tips|only|please|list)\b)"
)
_ASKED_BEFORE = re.compile(
    r"(?:\b(?:best|top|recommend(?:ed)?|where|which|what|only|just|find|show|suggest|list)"
    r"(?:\s(?:me|us|some|a|the|are|of|few|\d+|local|places?|for|to))*\s|추천\s|おすすめの)$"
)
_PLAN = re.compile(
    r"여행|일정|코스|계획|플랜|위주|중심|테마|투어|\b(?:trips?|itinerar(?:y|ies)|plan|planning|travel(?:l?ing)?|vacation|holiday"
    r"|getaway|honeymoon|weekend|tour)\b|旅行|旅(?!館)|プラン|コース|日程|中心"
)
_LISTED = re.compile(r"(?:들)?\s?(?:이?랑|와|과|하고|및|도|·|/|,|、|と|や|も|&|\+|,?\s?and(?: some| the)?)\s?")


def speaks_of_a_trip(lower: str) -> bool:
    """Whether a text has a word for a trip or a plan of one."""
    return _PLAN.search(lower) is not None


class SectionFinder:
    """Finds the slot ``section``: what alone is wanted, or what is ruled out."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        """``words``, by section: ``words`` that name what it holds, ``asks``, phrases that ask for it whatever else is
        said, ``themes`` that only it can meet, ``leanings``, themes that it meets best, and ``by_the_night``, true
        where a number of nights goes with asking for it alone."""
        self._asks = frozenset(word.lower() for data in words.values() for word in data.get("asks", ()))
        self._words = Lexicon(
            (
                (word.lower(), section)
                for section, data in words.items()
                for word in (*data.get("words", ()), *data.get("asks", ()))
            ),
            korean_inside_words=True,
        )
        self._by_the_night = frozenset(section for section, data in words.items() if data.get("by_the_night"))
        self._themes = {theme: section for section, data in words.items() for theme in data.get("themes", ())}
        self._leanings = {theme: section for section, data in words.items() for theme in data.get("leanings", ())}

    def spans(self, lower: str) -> list[tuple[int, int]]:
        """Where the text holds words for a section, whether or not they narrow it."""
        return [(match.start, match.end) for match in self._words.find(lower)]

    def find(self, shown: str, lower: str, themes: Sequence[Found], *, stays: bool) -> list[Found]:
        """The sections in the order of the text, each at most once. ``stays``: the query says how many nights."""
        named = [_found(match.meanings[0], match.start, match.end, shown) for match in self._words.find(lower)]
        settled = [_settled(each, lower) for each in negation.mark(named, lower)]
        marked = [each for each in settled if _is_out(each) or not _is_only_near(each, lower)]
        kept = [each for each in marked if not _is_out(each)]
        wanted = {each.slot.value for each in kept}  # whoever wants no hotel but a guesthouse wants lodging
        out = [each for each in marked if _is_out(each) and each.slot.value not in wanted]
        wished = [
            each
            for each in themes
            if not _is_out(each) and not overlaps(each.start, each.end, named) and not _is_only_near(each, lower)
        ]
        kept = self._with_listed(kept, wished, lower) if kept else self._of_themes(wished)
        by_the_night = all(each.slot.value in self._by_the_night for each in kept)
        about_a_trip = (stays and not by_the_night) or speaks_of_a_trip(lower)
        if about_a_trip and not any(self._is_asked_for(each, lower) for each in kept):
            kept = []
        return _once([*out, *kept])

    def _of_themes(self, wished: Sequence[Found]) -> list[Found]:
        """What themes alone ask for; nothing when one of them leans elsewhere."""
        found = [_of(each, self._themes[each.slot.value]) for each in wished if each.slot.value in self._themes]
        sections = {each.slot.value for each in found}
        leanings = {self._leanings[each.slot.value] for each in wished if each.slot.value in self._leanings}
        return found if leanings <= sections else []

    def _with_listed(self, kept: Sequence[Found], wished: Sequence[Found], lower: str) -> list[Found]:
        """Named sections, and those of themes that stand in one list with them: 맛집이랑 박물관."""
        found = list(kept)
        for each in wished:
            section = self._themes.get(each.slot.value) or self._leanings.get(each.slot.value)
            if section and any(_are_listed(each, other, lower) for other in kept):
                found.append(_of(each, section))
        return found

    def _is_asked_for(self, each: Found, lower: str) -> bool:
        return (
            lower[each.start : each.end] in self._asks
            or _ASKED_AFTER.match(lower, each.end) is not None
            or _ASKED_BEFORE.search(lower[max(0, each.start - 40) : each.start]) is not None
        )


def _are_listed(one: Found, other: Found, lower: str) -> bool:
    first, second = sorted((one, other), key=lambda each: each.start)
    return _LISTED.fullmatch(lower, first.end, second.start) is not None


def _is_only_near(each: Found, lower: str) -> bool:
    return (
        _NEAR_AFTER.match(lower, each.end) is not None
        or _NEAR_BEFORE.search(lower[max(0, each.start - 40) : each.start]) is not None
    )


def _settled(each: Found, lower: str) -> Found:
    """What the traveller has already is ruled out."""
    before = lower[max(0, each.start - 32) : each.start]
    if _SETTLED_AFTER.match(lower, each.end) or _SETTLED_BEFORE.search(before):
        return replace(each, slot=replace(each.slot, relation=Relation.EXCLUDED))
    return each


def _is_out(each: Found) -> bool:
    return each.slot.relation is Relation.EXCLUDED


def _found(section: str, start: int, end: int, shown: str) -> Found:
    return Found(start=start, end=end, slot=Slot(name="section", value=section, text=shown[start:end]))


def _of(theme: Found, section: str) -> Found:
    return replace(theme, slot=Slot(name="section", value=section, text=theme.slot.text))


def _once(found: Sequence[Found]) -> list[Found]:
    """Each section once; one that is ruled out is not wanted as well."""
    seen: dict[str, Found] = {}
    for each in found:
        seen.setdefault(each.slot.value, each)
    return sorted(seen.values(), key=lambda each: each.start)
