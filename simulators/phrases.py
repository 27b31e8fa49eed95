"""Decides the sentences an item is made of, in Korean, Japanese and English; refuses to know fields and JSON.

A body is 25 to 40 tokens: as long as a sentence or two that a person would read.
"""

from __future__ import annotations

from zlib import crc32

from simulators.prompt import Record
from simulators.tokens import pieces

LEAST_BODY_TOKENS = 25
MOST_BODY_TOKENS = 40
FACTS_TOKENS = 18

_BODY = {
    "ko": (
        "{name}{topic} 동선에 무리 없이 넣을 수 있는 곳입니다. {facts} ",
        "{name}{topic} 천천히 둘러보기 좋습니다. {facts} ",
        "이번 일정이라면 {name}{object} 추천합니다. {facts} ",
    ),
    "ja": (
        "{name}は無理なく立ち寄れる場所です。{facts} ",
        "{name}はゆっくり過ごすのに向いています。{facts} ",
        "今回の旅なら{name}をおすすめします。{facts} ",
    ),
    "en": (
        "{name} fits into the day without a detour. {facts} ",
        "{name} rewards taking it slowly. {facts} ",
        "For this trip {name} is an easy choice. {facts} ",
    ),
}
_MORE = {
    "ko": (
        "오전에 가면 한결 여유롭습니다. ",
        "근처에서 식사까지 해결할 수 있습니다. ",
        "날씨가 좋으면 더 오래 머물게 됩니다. ",
    ),
    "ja": ("午前中なら比較的空いています。", "近くで食事もできます。", "天気がよければ長く過ごせます。"),
    "en": (
        "Mornings are the quiet hours. ",
        "There are places to eat close by. ",
        "In good weather it is worth staying longer. ",
    ),
}
_REASON = {
    "ko": (
        "요청하신 조건에 잘 맞습니다.",
        "이동 시간이 짧고 함께 즐기기 좋습니다.",
        "원하신 분위기와 가장 가깝습니다.",
    ),
    "ja": ("ご希望の条件に合っています。", "移動が短く、一緒に楽しめます。", "お求めの雰囲気に近い場所です。"),
    "en": (
        "It matches what was asked for.",
        "Short transfers, and something for everyone.",
        "Closest to the mood asked for.",
    ),
}
_PLAIN = {
    "ko": "말씀하신 내용에 맞는 자료를 받지 못해 구체적인 추천은 드리기 어렵습니다.",
    "ja": "該当する資料がないため、具体的なおすすめはできません。",
    "en": "I was given no records that fit, so I cannot recommend anything in particular.",
}


def body(record: Record, query: str, language: str) -> str:
    """A sentence or two about the record."""
    tongue = _tongue(language)
    pick = crc32(f"{record.id}{query}".encode())
    text = _BODY[tongue][pick % 3].format(
        name=record.name,
        facts=_shortened(record.facts),
        topic=_particle(record.name, "은", "는"),
        object=_particle(record.name, "을", "를"),
    )
    for turn in range(3):
        if len(pieces(text)) >= LEAST_BODY_TOKENS:
            break
        text += _MORE[tongue][(pick + turn) % 3]
    return _cut(" ".join(text.split()), MOST_BODY_TOKENS)


def reason(record: Record, query: str, language: str) -> str:
    """Why the record was chosen."""
    return _REASON[_tongue(language)][crc32(f"{query}{record.id}".encode()) % 3]


def word(key: str, record: Record, language: str) -> str:
    """Something short for a field of whose meaning nothing is known."""
    return f"{key.replace('_', ' ')}: {_cut(record.facts, 6) or record.name}"


def plain_answer(query: str, language: str) -> str:
    """What a model says when it has nothing to go by."""
    return _PLAIN[_tongue(language)]


def _tongue(language: str) -> str:
    return language if language in _BODY else "en"


def _shortened(facts: str) -> str:
    whole = " ".join(facts.split())
    text = _cut(whole, FACTS_TOKENS)
    if len(text) < len(whole) and whole[len(text)] != " " and " " in text:
        text = text[: text.rindex(" ")]
    text = text.rstrip(" ,;:")
    return text if not text or text[-1] in ".!?。" else text + "."


def _cut(text: str, tokens: int) -> str:
    """The text up to so many tokens; again if need be, because a shorter text may be cut into tokens differently."""
    found = pieces(text)
    while len(found) > tokens:
        text = "".join(found[:tokens]).rstrip()
        found = pieces(text)
    return text


def _particle(name: str, after_consonant: str, after_vowel: str) -> str:
    """The Korean particle that the last syllable of `name` asks for; a syllable with a final consonant takes the
    first."""
    last = ord(name[-1]) - 0xAC00 if name else -1
    return after_consonant if 0 <= last < 11_172 and last % 28 else after_vowel
