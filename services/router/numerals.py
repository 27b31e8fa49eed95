"""Numbers as Korean, English and Japanese write them in short texts.

Decides which words are numbers, up to a hundred. Knows nothing of what is counted.
"""

from __future__ import annotations

_NATIVE = {
    "하나": 1, "한": 1, "둘": 2, "두": 2, "셋": 3, "세": 3, "석": 3, "넷": 4, "네": 4, "넉": 4,
    "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9, "열": 10,
}  # fmt: skip
_ENGLISH = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
_SINO = {"일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9}
_KANJI = {"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "両": 2, "两": 2}

NATIVE = "(?:하나|다섯|여섯|일곱|여덟|아홉|[한둘두셋세석넷네넉열])"
SINO = "[일이삼사오육칠팔구십]{1,3}"
KANJI = "[一二三四五六七八九十両两]{1,3}"
ENGLISH = "(?:one|two|three|four(?:teen)?|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty)"
DIGITS = r"\d{1,3}"


def count(words: str) -> int | None:
    """The number that ``words`` write, or None when they write none."""
    words = words.strip()
    if words.isascii() and words.isdigit():
        return int(words)
    return _NATIVE.get(words) or _ENGLISH.get(words) or _tens(words, _SINO, "십") or _tens(words, _KANJI, "十")


def _tens(words: str, digits: dict[str, int], ten: str) -> int | None:
    """Numbers below 100 in the manner of 二十三: a digit of tens, ten, a digit, each of the three optional."""
    before, has_ten, after = words.partition(ten)
    if not has_ten:
        return digits.get(words)
    tens = digits.get(before, 0) if before else 1
    ones = digits.get(after, 0) if after else 0
    if (before and not tens) or (after and not ones):
        return None
    return tens * 10 + ones
