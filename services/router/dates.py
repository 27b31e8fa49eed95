"""When the trip is: a season, a month, a date, or words such as 이번 주말 and "next month".

Decides without a clock: what is relative stays relative ("next-month"), so the same query always gives the same slots.
Values: season spring, summer, autumn, winter; month 1 to 12; date MM-DD, YYYY-MM-DD or one of the names below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headway.slots import Slot
from services.router.found import Found, overlaps

_KO_SEASON_END = (
    r"(?=$|[^가-힣]|에|의|철|꽃|여행|나들이|맞이|방학|휴가|이|은|을|날|바다|캠핑|축제|코스|데이트|밤|시즌|산)"
)
_JA_SEASON = r"(?:(?<=^)|(?<=[\s、。のにで今来])){}(?=$|[\s、。]|休み|に|の|旅|から|は|服|祭)"
_SEASONS = (
    (
        "spring",
        rf"(?<![가-힣])(?:초봄|늦봄|봄){_KO_SEASON_END}|(?<!hot )\bspring(?:time)?\b(?!s)|" + _JA_SEASON.format("春"),
    ),
    (
        "summer",
        rf"(?<![가-힣])(?:초여름|한여름|늦여름|여름){_KO_SEASON_END}|\bsummer(?:time)?\b|" + _JA_SEASON.format("夏"),
    ),
    (
        "autumn",
        rf"(?<![가-힣])(?:초가을|늦가을|가을){_KO_SEASON_END}|\bautumn\b"
        r"|\b(?:in|in the|this|next|during|early|late) fall\b|\bfall (?:foliage|trip|colou?rs|break|leaves)\b|"
        + _JA_SEASON.format("秋"),
    ),
    (
        "winter",
        rf"(?<![가-힣])(?:초겨울|한겨울|겨울){_KO_SEASON_END}|\bwinter(?:time)?\b|" + _JA_SEASON.format("冬"),
    ),
)  # fmt: skip
_SEASON_PATTERNS = tuple((value, re.compile(words)) for value, words in _SEASONS)
_MONTH_NAMES = {
    "january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5,
    "june": 6, "jun": 6,
    "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9, "october": 10, "oct": 10,
    "november": 11, "nov": 11, "december": 12, "dec": 12,
}  # fmt: skip
_NAMES = "|".join(sorted(_MONTH_NAMES, key=len, reverse=True))
_DATES = (
    re.compile(r"(?<!\d)(?P<y>20\d\d)\s?[-./년年]\s?(?P<m>\d{1,2})\s?[-./월月]\s?(?P<d>\d{1,2})(?:\s?[일日])?(?!\d)"),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?[월月]\s?(?P<d>\d{1,2})\s?[일日]?(?![\d박泊명인人만])"),
    re.compile(r"(?<![\d/.])(?P<m>\d{1,2})/(?P<d>\d{1,2})(?![\d/])"),
    re.compile(
        rf"\b(?P<name>{_NAMES})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?! (?:people|days?|nights?))(?:,? (?P<y>20\d\d))?"
    ),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_NAMES})\b(?: (?P<y>20\d\d))?"),
)
_RANGE_END = re.compile(
    r"\s?(?:~|-|–|부터|에서|から|to|until|through|till)\s?(?:the )?(?P<d>\d{1,2})(?:일|日|st|nd|rd|th)?"
    r"(?!\d|박|泊|만|명| ?[월月/]| ?people| ?days)"
)
_MONTHS = (
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?(?:월(?!\s?\d)|月(?!\s?\d))"),
    re.compile(rf"\b(?P<name>{_NAMES})\b"),
)
# Words that are also something else count as months only after one of these.
_AMBIGUOUS_MONTHS = ("may", "march", "mar", "sep", "jan", "dec")
_BEFORE_MONTH = re.compile(r"\b(?:in|next|this|early|mid|late|of|during|until|for|by|around|last|since)[ -]$")
_RELATIVE = (
    ("today", r"(?<![가-힣])오늘|\btoday\b|\btonight\b|今日|本日"),
    ("tomorrow", r"(?<![가-힣])내일|\btomorrow\b|明日"),
    ("day-after-tomorrow", r"(?<![가-힣])모레|\bday after tomorrow\b|明後日"),
    ("this-weekend", r"이번 ?주말|\bthis (?:coming )?weekend\b|今週末"),
    ("next-weekend", r"다음 ?주 ?주말|다음 ?주말|\bnext weekend\b|来週末"),
    ("this-week", r"이번 ?주(?!말| ?주말)|\bthis week\b|今週(?!末)"),
    ("next-week", r"다음 ?주(?!말| ?주말)|\bnext week\b|来週(?!末)"),
    ("this-month", r"이번 ?달|\bthis month\b|今月"),
    ("next-month", r"다음 ?달|\bnext month\b|来月"),
    ("next-year", r"(?<![가-힣])내년|\bnext year\b|来年"),
    ("christmas", r"크리스마스|성탄절|\bchristmas\b|\bxmas\b|クリスマス"),
    ("new-year", r"(?<![가-힣])새해|신정|\bnew year(?:'?s)?(?: eve| day)?\b|正月|元旦|年末年始"),
    ("year-end", r"(?<![가-힣])연말|年末(?!年始)"),
    ("chuseok", r"추석|한가위|\bchuseok\b|秋夕"),
    ("seollal", r"설날|설 연휴|구정|\bseollal\b|\blunar new year\b|旧正月"),
    ("golden-week", r"골든 ?위크|\bgolden week\b|ゴールデンウィーク"),
    ("easter", r"부활절|\beaster\b"),
)
_RELATIVE_PATTERNS = tuple((value, re.compile(words)) for value, words in _RELATIVE)


def find(shown: str, lower: str) -> list[Found]:
    """The slots ``date``, ``month`` and ``season``; a month inside a date is not said again."""
    found: list[Found] = []
    for candidate in (*_dates(shown, lower), *_relative(shown, lower), *_months(shown, lower), *_seasons(shown, lower)):
        same = any(each.slot.name == candidate.slot.name and each.slot.value == candidate.slot.value for each in found)
        if not same and not overlaps(candidate.start, candidate.end, found):
            found.append(candidate)
    return found


def _dates(shown: str, lower: str) -> Iterator[Found]:
    for pattern in _DATES:
        for match in pattern.finditer(lower):
            part = match.groupdict()
            month = _MONTH_NAMES[part["name"]] if part.get("name") else int(part["m"])
            day = int(part["d"])
            if month > 12 >= day and "/" in match[0]:
                month, day = day, month  # written the other way round
            if not (1 <= month <= 12 and 1 <= day <= 31):
                continue
            year = f"{part['y']}-" if part.get("y") else ""
            yield _found("date", f"{year}{month:02d}-{day:02d}", shown, match.start(), match.end())
            last = _RANGE_END.match(lower, match.end())
            if last and day < int(last["d"]) <= 31:
                yield _found("date", f"{year}{month:02d}-{int(last['d']):02d}", shown, last.start("d"), last.end())


def _relative(shown: str, lower: str) -> Iterator[Found]:
    for value, pattern in _RELATIVE_PATTERNS:
        if match := pattern.search(lower):
            yield _found("date", value, shown, match.start(), match.end())


def _months(shown: str, lower: str) -> Iterator[Found]:
    for pattern in _MONTHS:
        for match in pattern.finditer(lower):
            name = match.groupdict().get("name")
            if name in _AMBIGUOUS_MONTHS and not _BEFORE_MONTH.search(
                lower[max(0, match.start() - 10) : match.start()]
            ):
                continue
            month = _MONTH_NAMES[name] if name else int(match["m"])
            if 1 <= month <= 12:
                yield _found("month", str(month), shown, match.start(), match.end(), number=float(month))


def _seasons(shown: str, lower: str) -> Iterator[Found]:
    for value, pattern in _SEASON_PATTERNS:
        if match := pattern.search(lower):
            yield _found("season", value, shown, match.start(), match.end())


def _found(name: str, value: str, shown: str, start: int, end: int, number: float | None = None) -> Found:
    return Found(start=start, end=end, slot=Slot(name=name, value=value, text=shown[start:end].strip(), number=number))
