"""What the trip, or a part of it, may cost: 10만원 이하, under $200, 1万円以上.

Decides amount, currency and direction. A budget without a direction is a limit (예산 100만원, a budget of $500),
an amount without one is meant as it is (10만원대 호텔). A range gives both ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from headway.slots import Relation, Slot
from services.router.found import Found
from services.router.numerals import SINO, count

_SCALE = {
    "억": 1e8, "천만": 1e7, "백만": 1e6, "십만": 1e5, "만": 1e4, "천": 1e3, "백": 1e2,
    "万": 1e4, "千": 1e3, "k": 1e3, "": 1.0,
}  # fmt: skip
_UNITS = {
    "원": "KRW", "won": "KRW", "krw": "KRW", "₩": "KRW", "ウォン": "KRW",
    "엔": "JPY", "円": "JPY", "yen": "JPY", "jpy": "JPY", "¥": "JPY",
    "달러": "USD", "불": "USD", "dollars": "USD", "dollar": "USD", "usd": "USD", "bucks": "USD",
    "$": "USD", "ドル": "USD",
    "유로": "EUR", "euros": "EUR", "euro": "EUR", "eur": "EUR", "€": "EUR", "ユーロ": "EUR",
    "파운드": "GBP", "pounds": "GBP", "pound": "GBP", "gbp": "GBP", "£": "GBP", "ポンド": "GBP",
    "위안": "CNY", "yuan": "CNY", "cny": "CNY", "元": "CNY",
}  # fmt: skip
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|\d{1,9}(?:\.\d{1,2})?"
_CJK_SCALE = "억|천만|백만|십만|만|천|백|万|千"
_LIMIT = "이하|이내|미만|안쪽|이상|초과|넘"
_AMOUNT = re.compile(
    rf"(?P<sign>[$€£¥₩])\s?(?P<signed>{_NUMBER})(?P<thousand>k\b)?"
    rf"|(?<![\d.,])(?P<plain>{_NUMBER})(?P<k>k)?\s?(?P<word>dollars?|bucks|euros?|pounds?|won|yen|yuan|usd|eur|gbp|krw|jpy|cny)\b"
    rf"|(?:(?<![\d.,])(?P<cjk>{_NUMBER})|(?<![가-힣])(?P<sino>{SINO}))?\s?(?P<scale>{_CJK_SCALE})?\s?"
    rf"(?:(?P<rest>\d)\s?[천千])?\s?(?P<unit>원|엔|달러|불(?!국|꽃)|유로|파운드|위안|円|ウォン|ドル|ユーロ|ポンド|元)"
    rf"|(?<![\d.,])(?P<bare>{_NUMBER})\s?만(?=\s?(?:{_LIMIT}|정도|까지|대|선))"
    rf"|(?:예산|비용)(?:은|이)?\s?(?P<budget>{_NUMBER})\s?만(?!\s?원)"
)
_RANGE_START = re.compile(
    rf"(?P<low>{_NUMBER})\s?(?P<scale>{_CJK_SCALE})?\s?(?:원|円|엔)?\s?(?:~|-|–|〜|to |and |에서 |부터 )\s?[$€£¥₩]?$"
)
_RANGE_END = re.compile(
    rf"\s?(?:-|–|~|to)\s?[$€£¥₩]?(?P<high>{_NUMBER})(?P<k>k)?(?![\d,]*\s?(?:days?|nights?|people|일|박|명))\b"
)
_CJK_RANGE_END = re.compile(
    rf"\s?(?:~|-|–|〜|에서|부터|から)\s?(?P<high>{_NUMBER})\s?(?P<scale>{_CJK_SCALE})?\s?(?:원|円|엔|달러|유로)"
)
_AT_MOST_AFTER = re.compile(
    r"\s?(?:짜리)?\s?(?:이하|이내|미만|안쪽|안으로|안에서|까지|아래|밑|넘지|안 ?넘|을 넘지|를 넘지|을 안"
    r"|or less|or under|or below"
    r"|max\b|maximum|at most|tops|以下|以内|未満|まで|を超えない|くらいまで)"
)
_AT_LEAST_AFTER = re.compile(
    r"\s?(?:짜리)?\s?(?:을|를)?\s?(?:이상|초과|넘는|넘게|부터|위로|or more|or above|and up|plus\b|\+|以上|超|から)"
)
_AT_MOST_BEFORE = re.compile(
    r"(?:under|below|less than|at most|up to|max(?:imum)?(?: of)?|within|no more than|not more than|cheaper than"
    r"|not over|not exceeding|lower than|budget(?: is| of|:)?|spend|예산(?:은|이|으로)?|비용(?:은|이)?|최대"
    r"|予算(?:は)?|上限)"
    r"\s?(?:about |around |a |약 |総額|約)?$"
)
_AT_LEAST_BEFORE = re.compile(
    r"(?:over|above|more than|at least|min(?:imum)?(?: of)?|starting (?:at|from)|from|upwards of"
    r"|no less than|not less than|최소)\s?$"
)
_BETWEEN = re.compile(r"between (?:about )?$")
_BETWEEN_END = re.compile(rf"\s?and\s?[$€£¥₩]?(?P<high>{_NUMBER})(?P<k>k)?")
_RULED_OUT = re.compile(
    r"\s?(?:을|를)?\s?(?:이상|초과|넘는|비싼)(?:은|인)?\s?(?:[가-힣]{1,6}\s?)?(?:은|는)?\s?(?:말고|빼고|제외)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amount:
    start: int
    end: int
    number: float
    unit: str
    scale: float


def find(shown: str, lower: str) -> list[Found]:
    """The amounts as slots ``budget``: value in whole units, number, currency as unit (ISO 4217), relation."""
    found: list[Found] = []
    last_end = 0
    for match in _AMOUNT.finditer(lower):
        amount = _amount(match)
        if amount is None or amount.start < last_end:
            continue
        slots = _slots(amount, shown, lower, last_end)
        last_end = max(each.end for each in slots)
        found += slots
    return found


def _amount(match: re.Match[str]) -> _Amount | None:
    """The amount of a match, or None when the words hold a currency but no number."""
    part = match.groupdict(default="")
    if part["sign"]:
        scale, unit, number = (1e3 if part["thousand"] else 1.0), _UNITS[part["sign"]], _float(part["signed"])
    elif part["word"]:
        scale, unit, number = (1e3 if part["k"] else 1.0), _UNITS[part["word"]], _float(part["plain"])
    elif part["bare"] or part["budget"]:
        scale, unit, number = 1e4, "KRW", _float(part["bare"] or part["budget"])
    elif not (part["cjk"] or part["sino"] or part["scale"]):
        return None
    else:
        spoken = count(part["sino"]) if part["sino"] else 1
        if spoken is None or (not part["cjk"] and match.start() and _is_hangul(match.string[match.start() - 1])):
            return None
        scale, unit = _SCALE[part["scale"]], _UNITS[part["unit"]]
        number = _float(part["cjk"]) if part["cjk"] else float(spoken)
        if part["rest"]:
            number += float(part["rest"]) * 1e3 / scale
    if not 0 < number * scale < 1e12:
        return None
    # The word for budget belongs to the direction, not to the amount.
    start = match.start("budget") if part["budget"] else match.start() + len(match[0]) - len(match[0].lstrip())
    return _Amount(start=start, end=match.end(), number=number * scale, unit=unit, scale=scale)


def _slots(amount: _Amount, shown: str, lower: str, not_before: int) -> list[Found]:
    """One slot, or two when the amount is an end of a range whose other end bears no currency of its own."""
    before = lower[max(not_before, amount.start - 32) : amount.start]
    if (low := _RANGE_START.search(before)) is not None:
        lowest = _float(low["low"]) * (_SCALE[low["scale"]] if low["scale"] else amount.scale)
        start = amount.start - len(before) + low.start("low")
        return [
            _found(_with_number(amount, lowest, start), shown, Relation.AT_LEAST, start, amount.end),
            _found(amount, shown, Relation.AT_MOST, start, amount.end),
        ]
    range_end = _BETWEEN_END if _BETWEEN.search(before) else _RANGE_END
    if (high := range_end.match(lower, amount.end)) is not None and _float(high["high"]) * amount.scale > amount.number:
        highest = _float(high["high"]) * (1e3 if high["k"] else amount.scale)
        return [
            _found(amount, shown, Relation.AT_LEAST, amount.start, high.end()),
            _found(_with_number(amount, highest, amount.start), shown, Relation.AT_MOST, amount.start, high.end()),
        ]
    if (high := _CJK_RANGE_END.match(lower, amount.end)) is not None:
        highest = _float(high["high"]) * (_SCALE[high["scale"]] if high["scale"] else 1.0)
        return [
            _found(amount, shown, Relation.AT_LEAST, amount.start, high.end()),
            _found(_with_number(amount, highest, amount.start), shown, Relation.AT_MOST, amount.start, high.end()),
        ]
    relation, end = _relation(amount, lower, before)
    return [_found(amount, shown, relation, amount.start, end)]


def _relation(amount: _Amount, lower: str, before: str) -> tuple[Relation, int]:
    """The direction of an amount and where the words end that say it."""
    if at_most := _RULED_OUT.match(lower, amount.end) or _AT_MOST_AFTER.match(lower, amount.end):
        return Relation.AT_MOST, at_most.end()
    if at_least := _AT_LEAST_AFTER.match(lower, amount.end):
        return Relation.AT_LEAST, at_least.end()
    if _AT_LEAST_BEFORE.search(before):
        return Relation.AT_LEAST, amount.end
    return Relation.AT_MOST if _AT_MOST_BEFORE.search(before) else Relation.EQUAL, amount.end


def _with_number(amount: _Amount, number: float, start: int) -> _Amount:
    """The same amount with another number."""
    return _Amount(start=start, end=amount.end, number=number, unit=amount.unit, scale=amount.scale)


def _found(amount: _Amount, shown: str, relation: Relation, start: int, end: int) -> Found:
    value = f"{amount.number:.2f}".rstrip("0").rstrip(".")
    slot = Slot(
        name="budget", value=value, text=shown[start:end], relation=relation, number=amount.number, unit=amount.unit
    )
    return Found(start=start, end=end, slot=slot)


def _float(digits: str) -> float:
    return float(digits.replace(",", ""))


def _is_hangul(char: str) -> bool:
    return "가" <= char <= "힣"
