"""How long the trip is: 3박4일, 당일치기, "4-day", "three nights", 3泊4日, a weekend.

Decides nights and days; the one that is not said follows from the other. Tells days of a trip from days of a month, and
nights of a stay from a price per night.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headway.slots import Slot
from services.router.found import Found
from services.router.numerals import DIGITS, ENGLISH, KANJI, NATIVE, SINO, count

_MOST = 365
_KO = rf"(?:{DIGITS}|(?<![가-힣]){SINO})"
_JA = rf"(?:{DIGITS}|{KANJI})"
_EN = rf"(?:\b{DIGITS}|\b{ENGLISH})"
_PRICE = r"(?!\s?(?:에|당|기준)?\s?(?:\d[\d,.]*|[일이삼사오육칠팔구십]+)\s?(?:만|천|원|달러|엔))"

_BOTH = (
    re.compile(rf"(?P<n>{_KO}|무)\s?박\s?(?P<d>{DIGITS}|[일이삼사오육칠팔구십]{{1,2}}?)\s?일"),
    re.compile(rf"(?P<n>{_JA})\s?泊\s?(?P<d>{_JA})\s?日"),
    re.compile(r"\b(?P<n>\d{1,2})\s?n(?:ights?)?[ /,&+-]{0,2}(?P<d>\d{1,2})\s?d(?:ays?)?\b"),
    re.compile(r"\b(?P<d>\d{1,2})\s?d(?:ays?)?[ /,&+-]{0,2}(?P<n>\d{1,2})\s?n(?:ights?)?\b"),
    re.compile(rf"(?P<d>{_EN})[ -]days?,?(?: and| &)? (?P<n>{_EN})[ -]nights?\b"),
    re.compile(rf"(?P<n>{_EN})[ -]nights?,?(?: and| &)? (?P<d>{_EN})[ -]days?\b"),
    re.compile(r"(?P<d>[\d一二两三四五六七八九十]{1,2})天(?P<n>[\d一二两三四五六七八九十]{1,2})[夜晚]"),
)
_NIGHTS = (
    re.compile(rf"(?P<n>{_KO}|(?<![가-힣]){NATIVE})\s?박(?![가-힣]*물관|람){_PRICE}"),
    re.compile(rf"(?P<n>{NATIVE})\s?밤(?![가-힣])"),
    re.compile(rf"(?P<n>{_JA})\s?泊(?!\s?[\d一二三四五六七八九十,]+\s?(?:万|千|円))"),
    re.compile(rf"(?P<n>{_EN})[ -]nights?\b"),
)
_DAYS = (
    re.compile(
        rf"(?<!월)(?<!월 )(?P<d>{DIGITS})\s?일(?:\s?(?:간|동안|짜리|여행|일정|코스|정도|자유|투어)|(?=\s|$|[,.!?]))"
    ),
    re.compile(rf"(?P<d>{_JA})\s?日(?:間|の旅|旅行|コース|の)"),
    re.compile(rf"(?<!月)(?P<d>{_JA})\s?日(?=$|[\s、。])"),
    re.compile(rf"(?P<d>{_EN})[ -](?:full )?days?\b"),
    re.compile(r"\b(?P<d>\d{1,2})d\b"),
)
_WEEKS = (
    re.compile(rf"(?P<w>{_KO}|(?<![가-힣]){NATIVE})\s?주(?:일)?\s?(?:간|동안|짜리|여행|일정|정도|살기)"),
    re.compile(rf"(?P<w>{_EN}|\ba)[ -]weeks?(?! ?end)\b"),
    re.compile(rf"(?P<w>{_JA})\s?週間"),
)
_SAID = {
    "하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "여드레": 8, "아흐레": 9, "열흘": 10,
    "보름": 15, "일주일": 7, "한 달": 30, "한달": 30, "당일치기": 1, "당일 코스": 1, "당일코스": 1,
    "당일 여행": 1, "당일여행": 1,
    "日帰り": 1, "day trip": 1, "day-trip": 1, "one-day": 1, "single day": 1, "주말": 2, "週末": 2, "weekend": 2,
    "long weekend": 3, "overnight": 2, "fortnight": 14, "半日": 1, "half-day": 1, "half day": 1,
    "반나절": 1, "a month": 30,
}  # fmt: skip
_SAID_PATTERN = re.compile(
    "|".join(
        rf"\b{re.escape(words)}s?\b" if words.isascii() else rf"(?<![가-힣]){re.escape(words)}"
        for words in sorted(_SAID, key=len, reverse=True)
    )
)
# 하루에 세 번, 하루종일: not a length of the trip.
_NOT_SAID = re.compile(r"(?:에 |종일|만에|도 빠짐|빨리|카| ?[세두한몇] )")


def find(shown: str, lower: str) -> list[Found]:
    """The length of the trip as slots ``nights`` and ``days``, each at most once; an empty list when it is not said."""
    for start, end, nights, days in _said(lower):
        if max(nights or 0, days or 0) > _MOST:
            continue
        words = shown[start:end]
        if nights is None and days is not None:
            return [_slot("days", days, words, start, end), _slot("nights", days - 1, "", start, end)]
        if days is None and nights is not None:
            return [_slot("nights", nights, words, start, end), _slot("days", nights + 1, "", start, end)]
        if nights is not None and days is not None:
            return [_slot("nights", nights, words, start, end), _slot("days", days, words, start, end)]
    return []


def _said(lower: str) -> Iterator[tuple[int, int, int | None, int | None]]:
    """Candidates as (start, end, nights, days), the most explicit ones first."""
    for pattern in _BOTH:
        for match in pattern.finditer(lower):
            nights = 0 if match["n"] == "무" else count(match["n"])
            days = count(match["d"])
            if nights is not None and days:
                yield match.start(), match.end(), nights, days
    for pattern in _NIGHTS:
        for match in pattern.finditer(lower):
            if nights := count(match["n"]):
                yield match.start(), match.end(), nights, None
    for pattern in _DAYS:
        for match in pattern.finditer(lower):
            if days := count(match["d"]):
                yield match.start(), match.end(), None, days
    for match in _SAID_PATTERN.finditer(lower):
        if not _NOT_SAID.match(lower, match.end()):
            yield match.start(), match.end(), None, _SAID.get(match[0]) or _SAID[match[0].rstrip("s")]
    for pattern in _WEEKS:
        for match in pattern.finditer(lower):
            if weeks := count(match["w"]):
                yield match.start(), match.end(), None, weeks * 7


def _slot(name: str, number: int, words: str, start: int, end: int) -> Found:
    return Found(start=start, end=end, slot=Slot(name=name, value=str(number), text=words, number=float(number)))
