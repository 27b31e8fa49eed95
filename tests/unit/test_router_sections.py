from __future__ import annotations

import pytest

from services.router.sections import SectionFinder
from tests.unit.router_parts import said


@pytest.mark.parametrize(
    ("query", "sections"),
    [
        ("경복궁 근처 맛집", ["food"]),
        ("제주 숙소", ["lodging"]),
        ("hotels in Busan under 100000 won", ["lodging"]),
        ("서울 볼거리", ["sights"]),
        ("things to do in London with a toddler", ["sights"]),
        ("where to eat in Kyoto", ["food"]),
        ("museums in Paris", ["sights"]),
        ("best ramen in Fukuoka", ["food"]),
        ("大阪でおすすめのレストラン", ["food"]),
        ("京都の旅館", ["lodging"]),
        ("부산 맛집이랑 숙소", ["food", "lodging"]),
        ("제주 자연이랑 맛집", ["sights", "food"]),
        ("food and temples in Tokyo", ["food", "sights"]),
        ("강릉 바다 보이는 카페", ["food"]),
        ("제주도 3박4일 맛집 추천", ["food"]),
        ("best restaurants in Paris, 3 days", ["food"]),
        ("강릉 펜션 4인 1박", ["lodging"]),
    ],
)
def test_what_alone_is_asked_for_narrows_the_answer(query: str, sections: list[str]) -> None:
    assert said(query, "section") == sections


@pytest.mark.parametrize(
    "query",
    [
        "제주도 3박4일 가족여행",
        "여수 1박2일 맛집 위주로 짜줘",
        "부산 2박3일 커플 여행, 바다가 보이는 숙소",
        "cheap food and street markets in Osaka, 2 days",
        "Paris trip with museums and good food",
        "파리 5박6일 신혼여행 미술관 위주",
        "제주 바다",
        "도쿄 커플",
        "no spicy food in Bangkok",
        "아이랑 갈 만한 곳",
    ],
)
def test_a_trip_that_is_about_something_is_still_a_whole_trip(query: str) -> None:
    assert said(query, "section") == []


@pytest.mark.parametrize(
    ("query", "sections"),
    [
        ("hotel near good restaurants in Busan", ["lodging"]),
        ("관광지 근처 숙소", ["lodging"]),
        ("맛집 많은 동네 숙소", ["lodging"]),
        ("restaurants close to my hotel", ["food"]),
    ],
)
def test_what_is_only_to_be_near_is_not_asked_for(query: str, sections: list[str]) -> None:
    assert said(query, "section") == sections


@pytest.mark.parametrize(
    ("query", "sections"),
    [
        ("제주 2박3일 숙소 빼고", ["not lodging"]),
        ("숙소는 예약했고 제주 맛집 추천", ["not lodging", "food"]),
        ("we already have a hotel, 3 days in Tokyo", ["not lodging"]),
        ("Seoul 2 days without restaurants", ["not food"]),
        ("ホテル以外で京都", ["not lodging"]),
        ("부산 3박4일 호텔 말고 게스트하우스", ["lodging"]),
    ],
)
def test_what_is_ruled_out_or_settled_is_not_wanted(query: str, sections: list[str]) -> None:
    assert said(query, "section") == sections


def test_a_domain_without_words_for_sections_narrows_nothing() -> None:
    finder = SectionFinder({})
    assert finder.find("best restaurants", "best restaurants", [], stays=False) == []
    assert finder.spans("best restaurants") == []
