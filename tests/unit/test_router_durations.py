from __future__ import annotations

import pytest

from tests.unit.router_parts import findings, said


@pytest.mark.parametrize(
    ("query", "nights", "days"),
    [
        ("제주도 3박4일 가족여행", 3, 4),
        ("3박 4일", 3, 4),
        ("뉴욕 4박6일", 4, 6),
        ("삼박사일 제주", 3, 4),
        ("2박 강릉", 2, 3),
        ("두 밤 자고 오는 여행", 2, 3),
        ("무박2일 부산", 0, 2),
        ("당일치기 경주", 0, 1),
        ("사흘 동안 여수", 2, 3),
        ("이틀", 1, 2),
        ("열흘간 유럽", 9, 10),
        ("부산 3일 코스", 2, 3),
        ("도쿄 5일", 4, 5),
        ("일주일 살기", 6, 7),
        ("2주 동안", 13, 14),
        ("제주 한달", 29, 30),
        ("이번 주말 강릉", 1, 2),
        ("4-day Tokyo trip", 3, 4),
        ("three nights in Paris", 3, 4),
        ("five days", 4, 5),
        ("5 days 4 nights in Bali", 4, 5),
        ("3 nights and 4 days", 3, 4),
        ("3d2n jeju", 2, 3),
        ("a week in London", 6, 7),
        ("two weeks in Japan", 13, 14),
        ("weekend getaway", 1, 2),
        ("a day trip from Seoul", 0, 1),
        ("3泊4日", 3, 4),
        ("三泊四日", 3, 4),
        ("京都2泊", 2, 3),
        ("東京3日間", 2, 3),
        ("日帰り温泉", 0, 1),
        ("1週間", 6, 7),
        ("三天两夜", 2, 3),
    ],
)
def test_nights_and_days_are_found_and_the_unsaid_one_follows(query: str, nights: int, days: int) -> None:
    assert sorted(said(query, "nights", "days")) == [f"days {days}", f"nights {nights}"]


@pytest.mark.parametrize(
    "query",
    [
        "1박에 15만원 이하 호텔",
        "1박 10만원",
        "12월 25일",
        "5월 3일에 출발",
        "25日に行く",
        "하루종일 비",
        "하루에 세 번",
        "박물관",
        "수박 화채",
        "200 dollars a night",
        "day and night",
        "1泊1万円以下",
    ],
)
def test_prices_per_night_and_days_of_a_month_are_no_length(query: str) -> None:
    assert said(query, "nights", "days") == []


def test_what_follows_from_the_other_cites_no_words() -> None:
    texts = {slot.name: slot.text for slot in findings("제주 2박").slots}
    assert texts["nights"] == "2박"
    assert texts["days"] == ""


def test_a_length_beyond_a_year_is_not_believed() -> None:
    assert said("999박", "nights", "days") == []
