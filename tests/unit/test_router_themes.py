from __future__ import annotations

import pytest

from tests.unit.router_parts import findings, said


@pytest.mark.parametrize(
    ("query", "themes"),
    [
        ("바다 보이는 카페", ["ocean-view", "cafe"]),
        ("등산 빼고", ["not hiking"]),
        ("no museums", ["not museum"]),
        ("without hiking and museums", ["not hiking", "not museum"]),
        ("no museums and cheap food", ["not museum", "budget"]),
        ("Paris without museums", ["not museum"]),
        ("해산물 없는 곳", ["not seafood"]),
        ("海鮮が苦手", ["not seafood"]),
        ("쇼핑은 싫고 산책", ["not shopping", "walk"]),
        ("book a hotel", ["hotel"]),
        ("무료 취소 되는 호텔", ["hotel"]),
        ("a start", []),
        ("Spain", []),
    ],
)
def test_themes_are_the_tags_of_the_domain(query: str, themes: list[str]) -> None:
    assert said(query, "theme") == themes


@pytest.mark.parametrize(
    ("query", "out"),
    [
        ("고수 빼고 쌀국수", ["not 고수"]),
        ("계단 없는 코스", ["not 계단"]),
        ("견과류 못 먹는 아이", ["not 견과류"]),
        ("without cilantro", ["not cilantro"]),
        ("no spicy food", ["not spicy food"]),
        ("can't eat shellfish or peanuts", ["not shellfish", "not peanuts"]),
        ("パクチー抜きのタイ料理", ["not パクチー"]),
        ("人混みを避けて", ["not 人混み"]),
        ("no problem at all", []),
        ("문제 없이 다녀오기", []),
        ("부산 말고 강릉", []),
        ("등산 빼고", []),
        ("no more than 3 people", []),
    ],
)
def test_what_nothing_else_knows_is_an_exclusion(query: str, out: list[str]) -> None:
    assert said(query, "exclusion") == out


def test_slots_come_in_the_order_of_the_query() -> None:
    names = [slot.name for slot in findings("제주도 3박4일 가족여행 10만원 이하").slots]
    assert names == ["destination", "nights", "days", "party", "theme", "budget"]


def test_the_bare_text_leaves_plain_values_out_and_keeps_the_rest() -> None:
    assert findings("제주도 3박4일 가족여행").bare == "가족여행"
    assert findings("flights to Tokyo on March 5 under $300").bare == "flights to on under"
    assert findings("경복궁 휴무일").bare == "경복궁 휴무일"
    assert findings("제주").bare == "제주"
