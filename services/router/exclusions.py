"""What the query rules out and nothing else knows: 고수 빼고, without cilantro, パクチー抜き.

Decides which words are ruled out. What is a place, a party or a theme is marked as excluded where it is found and is not
repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headway.slots import Relation, Slot
from services.router.found import Found, overlaps

_MOST = 8
_KO = re.compile(
    r"(?<![가-힣A-Za-z0-9])(?P<what>[가-힣A-Za-z0-9]{1,12}?)(?:은|는|이|가|을|를|도)?\s?"
    r"(?:말고|빼고|제외하고|제외한|제외|없는|없이|이외|외에)"
)
_EN = re.compile(
    r"\b(?:without|except(?: for)?|excluding|no|avoid(?:ing)?)\s(?:any |the |a |an |too many )?(?P<what>[a-z][a-z'-]*(?: [a-z][a-z'-]*){0,2})"
)
_JA = re.compile(r"(?P<what>[一-鿿々]{1,8}|[ァ-ヺー]{2,16})(?:は|を|が)?(?:以外|抜き|なし|無し|を?除[いく])")
_EN_STOP = re.compile(
    r"\s(?:and|or|but|in|on|at|for|with|to|please|from|near|because|that|who|which|is|are|it|if|so|as|of|by|allowed)\b.*"
)
_NOTHING = frozenset(
    [
        "부담", "문제", "상관", "관계", "어려움", "무리", "걱정", "틀림", "끊임", "더할 나위", "빠짐", "실수", "그거", "그것", "이거", "할 수", "수", "거기", "다른", "곳은", "곳", "데", "숙소는",
        "problem", "idea", "matter", "one", "more", "less", "need", "longer", "later", "fewer", "doubt", "rush", "budget", "limit",
        "preference", "thanks", "worries", "thank you", "preferences", "particular", "further", "other", "clue", "way", "time",
        "問題", "間違い", "予定", "関係",
    ]
)  # fmt: skip


def find(shown: str, lower: str, known: Sequence[Found]) -> list[Found]:
    """The slot ``exclusion`` for each thing ruled out that none of ``known`` covers; the value is the word in lower case."""
    found: list[Found] = []
    for pattern in (_KO, _EN, _JA):
        for match in pattern.finditer(lower):
            what = _EN_STOP.sub("", match["what"]).strip() if pattern is _EN else match["what"]
            start = match.start("what")
            end = start + len(what)
            if not what or what.split()[0] in _NOTHING or what in _NOTHING or overlaps(start, end, known):
                continue
            slot = Slot(name="exclusion", value=what, text=shown[start:end], relation=Relation.EXCLUDED)
            if not overlaps(start, end, found):
                found.append(Found(start=start, end=end, slot=slot))
    return found[:_MOST]
