"""Who travels: 가족, 커플, 혼자, 어른 2명 아이 1명, "family of four", 子連れ.

Decides kind of party, head counts and whether children come. Which words name which party is the domain's data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from headway.slots import Slot
from services.router import negation
from services.router.found import Found, overlaps
from services.router.lexicon import Lexicon
from services.router.numerals import DIGITS, ENGLISH, KANJI, NATIVE, count

_MOST = 500
_KO_COUNT = rf"(?:{DIGITS}|{NATIVE})"
_EN_COUNT = rf"(?:\b{DIGITS}|\b{ENGLISH}|\ba)"
_JA_COUNT = rf"(?:{DIGITS}|{KANJI})"

_ADULTS = (
    re.compile(rf"(?:어른|성인|대인)\s?(?P<n>{_KO_COUNT})\s?(?:명|인|분)?"),
    re.compile(rf"(?P<n>{_EN_COUNT}) adults?\b"),
    re.compile(rf"(?:大人|成人)\s?(?P<n>{_JA_COUNT})\s?[人名]?"),
)
_CHILDREN = (
    re.compile(
        rf"(?<![가-힣])(?:아이들?|애들?|어린이|유아|아기|소인|초등학생|딸|아들|손주)(?:이|가)?\s?(?P<n>{_KO_COUNT})(?![가-힣\d]*[살세박일월])\s?(?:명|이서|인)?"
    ),
    re.compile(
        rf"(?P<n>{_EN_COUNT}) (?:small |little |young |teenage )?"
        r"(?:kids?|child(?:ren)?|toddlers?|bab(?:y|ies)|infants?|teenagers?|sons?|daughters?)\b"
    ),
    re.compile(rf"(?:子供|子ども|こども|小人|幼児|赤ちゃん)\s?(?P<n>{_JA_COUNT})\s?[人名]?"),
)
_HEADS = (
    re.compile(rf"(?<!\d)(?P<n>{_KO_COUNT})\s?(?:명|인(?=\s?(?:가족|식구|여행|이|실|용|분|$|\s))|식구|사람)"),
    re.compile(r"(?<![가-힣])(?P<n>둘|셋|넷|다섯|여섯)(?:이서|이|이랑)(?![가-힣])"),
    re.compile(rf"\b(?:family|party|group) of (?P<n>{DIGITS}\b|{ENGLISH}\b)"),
    re.compile(rf"(?P<n>{_EN_COUNT}) (?:people|persons?|guests?|pax|travell?ers|of us|friends)\b"),
    re.compile(
        r"\b(?:for|we are|we're|there are) (?P<n>two|three|four|five|six|seven|eight)"
        r"(?: of us)?(?=$|[,.!?]| in | at | please| from )"
    ),
    re.compile(rf"(?P<n>{_JA_COUNT})\s?(?:人(?!気|前|形)|名様?)"),
)


class PartyFinder:
    """Finds the slots ``party``, ``party_size``, ``adults`` and ``children``."""

    def __init__(self, words: Mapping[str, Sequence[str]], children: Sequence[str]) -> None:
        self._kinds = Lexicon((word.lower(), kind) for kind, listed in words.items() for word in listed)
        self._children = Lexicon((word.lower(), "some") for word in children)

    def find(self, shown: str, lower: str) -> list[Found]:
        """The party in the order of the text; sizes that follow from others cite no words."""
        adults = _first(_ADULTS, "adults", shown, lower)
        children = _first(_CHILDREN, "children", shown, lower) or self._some_children(shown, lower)
        heads = _first(_HEADS, "party_size", shown, lower, apart_from=adults + children)
        kinds = negation.mark(self._kinds_of(shown, lower), lower)
        if not heads:
            heads = _sum(adults, children)
        return [*kinds, *adults, *negation.mark(children, lower), *heads]

    def _kinds_of(self, shown: str, lower: str) -> list[Found]:
        found: dict[str, Found] = {}
        for match in self._kinds.find(lower):
            kind = match.meanings[0]
            slot = Slot(name="party", value=kind, text=shown[match.start : match.end])
            found.setdefault(kind, Found(start=match.start, end=match.end, slot=slot))
        return list(found.values())

    def _some_children(self, shown: str, lower: str) -> list[Found]:
        """Children that are named but not counted have the value "some" and no number."""
        for match in self._children.find(lower):
            slot = Slot(name="children", value="some", text=shown[match.start : match.end])
            return [Found(start=match.start, end=match.end, slot=slot)]
        return []


def _first(
    patterns: Sequence[re.Pattern[str]], name: str, shown: str, lower: str, apart_from: Sequence[Found] = ()
) -> list[Found]:
    for pattern in patterns:
        for match in pattern.finditer(lower):
            number = 1 if match["n"] == "a" else count(match["n"])
            if number and number <= _MOST and not overlaps(match.start(), match.end(), apart_from):
                words = shown[match.start() : match.end()].rstrip()
                slot = Slot(name=name, value=str(number), text=words, number=float(number))
                return [Found(start=match.start(), end=match.start() + len(words), slot=slot)]
    return []


def _sum(adults: Sequence[Found], children: Sequence[Found]) -> list[Found]:
    """The size of the party when both adults and children were counted."""
    counted = [each.slot.number for each in (*adults, *children) if each.slot.number is not None]
    if len(counted) < 2:
        return []
    size = sum(counted)
    end = max(each.end for each in (*adults, *children))
    return [Found(start=end, end=end, slot=Slot(name="party_size", value=str(int(size)), number=size))]
