from __future__ import annotations

from functools import cache

import pytest

from headway import domain
from services.router.language import LanguageFinder
from tests.unit.router_parts import TRAVEL


@cache
def finder() -> LanguageFinder:
    travel = domain.load(TRAVEL)
    return LanguageFinder(line for intent in travel.intents for line in intent.examples.get("en", ()))


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("제주도 3박4일 가족여행", "ko"),
        ("Tokyo 3박4일", "ko"),
        ("子連れで東京3日間", "ja"),
        ("パリ 美術館", "ja"),
        ("3-day Tokyo trip with kids", "en"),
        ("cheap hotel", "en"),
        ("Günstiges Hotel in Berlin mit Frühstück", "de"),
        ("voyage à Kyoto avec des enfants", "fr"),
        ("viaggio a Roma con bambini", "it"),
        ("reis naar Amsterdam met kinderen", "nl"),
        ("Отель в центре Москвы недорого", "ru"),
        ("فندق في القاهرة مع مسبح", "ar"),
        ("โรงแรมในกรุงเทพ", "th"),
        ("Khách sạn gần biển cho gia đình", "vi"),
        ("होटल दिल्ली", "hi"),
        ("ξενοδοχείο στην Αθήνα", "el"),
        ("מלון בתל אביב", "he"),
    ],
)
def test_the_language_is_told_by_script_or_by_words(query: str, language: str) -> None:
    assert finder().find(query) == language


@pytest.mark.parametrize("query", ["", "123", "!!!", "🎉🎉", "xyzzy", "ok"])
def test_what_cannot_be_told_is_said_to_be_unknown(query: str) -> None:
    assert finder().find(query) == "und"


def test_names_of_places_say_nothing_about_the_language() -> None:
    assert finder().find("Kyoto", names=["Kyoto"]) == "und"
    assert finder().find("solo trip Osaka", names=["Osaka"]) == "en"


def test_han_characters_alone_follow_the_locale_of_the_caller() -> None:
    assert finder().find("京都三日") == "und"
    assert finder().find("京都三日", hint="zh-TW") == "zh"
    assert finder().find("京都三日", hint="ja") == "ja"
    assert finder().find("京都三日", hint="ko-KR") == "und"
