from __future__ import annotations

import pytest

from tests.unit.router_parts import findings, said


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("1박 10만원 이하 호텔", ["<=100000 KRW"]),
        ("10만 원 이내", ["<=100000 KRW"]),
        ("5만원 미만", ["<=50000 KRW"]),
        ("20만원 안 넘는 숙소", ["<=200000 KRW"]),
        ("30만원 이상", [">=300000 KRW"]),
        ("30만원 넘는 호텔", [">=300000 KRW"]),
        ("30만원 넘는 숙소 말고", ["<=300000 KRW"]),
        ("예산 50만원", ["<=500000 KRW"]),
        ("예산은 100만 정도", ["<=1000000 KRW"]),
        ("15만 이하로", ["<=150000 KRW"]),
        ("10만원대 호텔", ["100000 KRW"]),
        ("백만원으로 일본", ["1000000 KRW"]),
        ("이십만원 이하", ["<=200000 KRW"]),
        ("3만5천원 이하 식당", ["<=35000 KRW"]),
        ("35,000원 이하", ["<=35000 KRW"]),
        ("10~20만원", [">=100000 KRW", "<=200000 KRW"]),
        ("10만원에서 20만원 사이", [">=100000 KRW", "<=200000 KRW"]),
        ("5만원~15만원", [">=50000 KRW", "<=150000 KRW"]),
        ("10만원 이상 20만원 이하", [">=100000 KRW", "<=200000 KRW"]),
        ("100달러 이하", ["<=100 USD"]),
        ("3만엔 이내", ["<=30000 JPY"]),
        ("100유로 이하", ["<=100 EUR"]),
        ("under $200", ["<=200 USD"]),
        ("at most 150 euros", ["<=150 EUR"]),
        ("$2,000 or less", ["<=2000 USD"]),
        ("over £300 a night", [">=300 GBP"]),
        ("more than 100 dollars", [">=100 USD"]),
        ("a budget of $1.5k", ["<=1500 USD"]),
        ("$150-250 a night", [">=150 USD", "<=250 USD"]),
        ("between $100 and $200", [">=100 USD", "<=200 USD"]),
        ("200 dollars", ["200 USD"]),
        ("1万円以下", ["<=10000 JPY"]),
        ("1万5千円以内の旅館", ["<=15000 JPY"]),
        ("予算10万円", ["<=100000 JPY"]),
        ("3万円以上", [">=30000 JPY"]),
        ("¥20000まで", ["<=20000 JPY"]),
        ("₩50000 max", ["<=50000 KRW"]),
    ],
)
def test_amounts_have_a_currency_and_a_direction(query: str, expected: list[str]) -> None:
    assert said(query, "budget") == expected


@pytest.mark.parametrize(
    "query",
    ["공원", "2명", "3박4일", "불국사", "1234", "room 200", "元気ですか", "10만 명이 찾는 축제", "2인원"],
)
def test_numbers_without_a_currency_are_no_budget(query: str) -> None:
    assert said(query, "budget") == []


def test_the_number_and_the_unit_stand_beside_the_value() -> None:
    slot = next(slot for slot in findings("1박 10만원 이하 호텔").slots if slot.name == "budget")
    assert (slot.number, slot.unit, slot.text) == (100_000.0, "KRW", "10만원 이하")
