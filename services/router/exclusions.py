"""What the query rules out and nothing else knows: 고수 빼고, without cilantro, パクチー抜き.

Decides which words are ruled out. What is a place, a party or a theme is marked as excluded where it is found and is
not repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headway.slots import Relation, Slot
from services.router.found import Found, overlaps

_MOST = 8
_KO = re.compile(
    r"(?<![가-힣A-Za-z0-9])(?P<what>[가-힣A-Za-z0-9]{1,12}?)(?:은|는|이|가|을|를|도)?\s?"
    r"(?:말고|빼고|제외하고|제외한|제외|없는|없이|이외|외에|못 ?먹|안 ?먹|싫어|알레르기|피하고)"
)
_EN = re.compile(
    r"\b(?:without|except(?: for)?|excluding|no|avoid(?:ing)?|can'?t eat|cannot eat|allergic to|hate"
    r"|don'?t (?:like|want|eat))"
    r"\s(?:any |the |a |an |too many )?(?P<what>[a-z][a-z'-]*(?: [a-z][a-z'-]*){0,4})"
)
_JA = re.compile(
    r"(?P<what>[一-鿿々][一-鿿々ぁ-ん]{0,5}?|[ァ-ヺー]{2,16})(?:は|を|が)?"
    r"(?:以外|抜き|なし|無し|除[いく]|避け|苦手|嫌い|食べられない)"
)
_EN_STOP = re.compile(
    r"\s(?:but|in|on|at|for|with|to|please|from|near|because|that|who|which|is|are|it|if|so|as|of|by|allowed|then|we|i)\b.*"
)
_EN_AND = re.compile(r" (?:and|or|nor) ")
_NOTHING = frozenset(
    [
        "부담", "문제", "상관", "관계", "어려움", "무리", "걱정", "틀림", "끊임", "더할 나위",
        "빠짐", "실수", "그거", "그것",
        "이거", "할 수", "수", "거기", "다른", "곳은", "곳", "데", "숙소는",
        "problem", "idea", "matter", "one", "more", "less", "need", "longer", "later", "fewer",
        "doubt", "rush", "budget", "limit",
        "preference", "thanks", "worries", "thank you",
        "preferences", "particular", "further", "other", "clue", "way", "time",
        "問題", "間違い", "予定", "関係",
    ]
)  # fmt: skip


def find(shown: str, lower: str, known: Sequence[Found]) -> list[Found]:
    """The slot ``exclusion`` for each thing ruled out that none of ``known`` covers; the value is in lower case."""
    found: list[Found] = []
    for start, what in _said(lower):
        end = start + len(what)
        if what.split()[0] in _NOTHING or what in _NOTHING or overlaps(start, end, (*known, *found)):
            continue
        slot = Slot(name="exclusion", value=what, text=shown[start:end], relation=Relation.EXCLUDED)
        found.append(Found(start=start, end=end, slot=slot))
    return found[:_MOST]


def _said(lower: str) -> Iterator[tuple[int, str]]:
    """Where something is ruled out, and what."""
    for pattern in (_KO, _JA):
        for match in pattern.finditer(lower):
            yield match.start("what"), match["what"]
    for match in _EN.finditer(lower):
        listed = _EN_STOP.sub("", match["what"])
        ends = [each.span() for each in _EN_AND.finditer(listed)]
        starts = [0, *(end for _, end in ends)]
        for start, end in zip(starts, [*(start for start, _ in ends), len(listed)], strict=True):
            # Up to three words are one thing; more are the rest of a sentence.
            yield match.start("what") + start, " ".join(listed[start:end].split(" ")[:3])
            if match[0].startswith("no "):
                break  # "no museums and cheap food" rules out museums alone
