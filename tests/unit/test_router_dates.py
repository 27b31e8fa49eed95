from __future__ import annotations

import pytest

from tests.unit.router_parts import said


@pytest.mark.parametrize(
    ("query", "season"),
    [
        ("봄꽃 여행", ["spring"]),
        ("여름휴가", ["summer"]),
        ("가을에 경주", ["autumn"]),
        ("겨울 여행지", ["winter"]),
        ("in spring", ["spring"]),
        ("this summer", ["summer"]),
        ("fall foliage in Kyoto", ["autumn"]),
        ("winter in Japan", ["winter"]),
        ("冬の北海道", ["winter"]),
        ("夏休みに沖縄", ["summer"]),
        ("해봄직한 일", []),
        ("hot springs", []),
        ("waterfalls that fall far", []),
        ("春川のタッカルビ", []),
    ],
)
def test_seasons(query: str, season: list[str]) -> None:
    assert said(query, "season") == season


@pytest.mark.parametrize(
    ("query", "month"),
    [
        ("5월 제주", ["5"]),
        ("12월에 갈 만한 곳", ["12"]),
        ("in May", ["5"]),
        ("next March", ["3"]),
        ("early October", ["10"]),
        ("11月の京都", ["11"]),
        ("13월", []),
        ("may I ask you something", []),
        ("3개월", []),
        ("a long march", []),
    ],
)
def test_months(query: str, month: list[str]) -> None:
    assert said(query, "month") == month


@pytest.mark.parametrize(
    ("query", "dates"),
    [
        ("12월 25일 뉴욕", ["12-25"]),
        ("2026년 1월 3일", ["2026-01-03"]),
        ("2026-12-24", ["2026-12-24"]),
        ("12/25", ["12-25"]),
        ("25/12", ["12-25"]),
        ("Dec 25th", ["12-25"]),
        ("4 July 2027", ["2027-07-04"]),
        ("12月31日", ["12-31"]),
        ("5월 3일~5일 부산", ["05-03", "05-05"]),
        ("from March 5 to 8", ["03-05", "03-08"]),
        ("이번 주말", ["this-weekend"]),
        ("다음 주 도쿄", ["next-week"]),
        ("next month", ["next-month"]),
        ("내일", ["tomorrow"]),
        ("来週末", ["next-weekend"]),
        ("크리스마스", ["christmas"]),
        ("추석 연휴", ["chuseok"]),
        ("14월 40일", []),
        ("24/7 shop", ["07-24"]),
    ],
)
def test_dates_are_month_and_day_or_stay_relative(query: str, dates: list[str]) -> None:
    assert said(query, "date") == dates


def test_a_month_inside_a_date_is_not_said_twice() -> None:
    assert said("12월 25일 뉴욕", "date", "month") == ["date 12-25"]
