"""A destination that nobody has heard of: "a trip to Zermatt", 청산도 1박2일.

Decides when words must be the name of a place although neither the domain nor the gazetteer has it. Looked for only
when no known place is named; better said to be unknown than passed over, which would put the trip somewhere else.
Prefers to find nothing.
"""

from __future__ import annotations

import re

from headway.catalogue.geography import slug
from headway.slots import Slot
from services.router.found import Found, Text

_GOING = (
    r"(?:trips?|travel(?:l?ing)?|flying|going|visit(?:ing)?|holidays?|vacation|weekend|honeymoon|days?|nights?"
    r"|weeks?|stay(?:ing)?"
    r"|itinerary|getaway|tour|things to do|where to (?:stay|eat)|hotels?|hostels?|restaurants?|cafes|museums)"
)
_NAME = r"(?P<name>[A-ZÀ-Þ][\w'’-]{2,}(?: (?:[A-ZÀ-Þ][\w'’-]+|of|de|la|del|am|an der)){0,3})"
_LATIN = re.compile(
    rf"\b(?i:{_GOING})(?i:\s(?:to|in|at|around))\s{_NAME}|\b(?i:visiting)\s{_NAME.replace('name', 'visited')}"
)
_SMALL = re.compile(r"(?:\s(?:of|de|la|del|am|an|der))+$")
_NO_NAMES = frozenset(
    [
        "the", "this", "that", "these", "those", "my", "our", "your", "his", "her", "their", "its", "a", "an", "any",
        "some", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "january", "february",
        "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "jan",
        "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "monday", "tuesday", "wednesday",
        "thursday", "friday", "saturday", "sunday", "spring", "summer", "autumn", "fall", "winter", "christmas",
        "easter", "thanksgiving", "halloween", "ramadan", "chuseok", "seollal", "general", "total", "english",
        "korean", "japanese", "french", "spanish", "chinese", "german", "italian", "advance", "budget", "style",
        "family", "mom", "dad", "grandma", "grandpa", "mum", "i", "we", "you", "it", "he", "she", "they", "god",
        "hell", "heaven", "work", "school", "bed", "march", "mars", "economy", "premium", "business", "first", "games",
        "music", "location",
    ]
)  # fmt: skip
_KOREAN = re.compile(
    r"(?<![가-힣])(?P<name>[가-힣]{2,4}(?:섬|도|군|읍|마을))(?=\s?(?:\d{1,2}\s?박|당일치기|(?:섬\s?)?여행\s?(?:코스|일정|\d|추천|$)))"
)
# Ends like the name of an island and is none: 무인도, 아이들도, 당일치기로도, 한반도.
_NO_ISLANDS = re.compile(
    r"(?:무인도|반도|지도|온도|정도|속도|수도|각도|태도|제도|인도|효도|주말에도|아이도|에도|라도|로도|까지도|이랑도|하고도"
    r"|(?:들|님|이|구|족|플|자|기|만|부|서|지|나|과|와|철|행|가|말|름|울|을|봄)도|외딴섬|작은섬|예쁜섬|큰섬|가까운섬)$"
)


def find(text: Text) -> list[Found]:
    """The slot ``destination`` for a name that only its place in the sentence shows to be one; at most one."""
    if (match := _KOREAN.search(text.lower)) is not None and not _NO_ISLANDS.search(match["name"]):
        return [_found(match["name"], match["name"], match.start("name"), match.end("name"))]
    if _is_titled(text.shown):
        return []
    for match in _LATIN.finditer(text.shown):
        group = "name" if match["name"] else "visited"
        name = _SMALL.sub("", match[group])
        if name.split()[0].lower() not in _NO_NAMES and name.split()[-1].lower() not in _NO_NAMES:
            return [_found(slug(name), name, match.start(group), match.start(group) + len(name))]
    return []


def _is_titled(shown: str) -> bool:
    """In A Title Like This capitals show no names."""
    words = [
        word for word in re.findall(r"[A-Za-zÀ-ÿ]{3,}", shown) if word.lower() not in ("the", "and", "for", "with")
    ]
    return len(words) > 3 and sum(word[0].isupper() for word in words) * 3 > len(words) * 2


def _found(value: str, name: str, start: int, end: int) -> Found:
    return Found(start=start, end=end, slot=Slot(name="destination", value=value, text=name), plain=True, whole=True)
