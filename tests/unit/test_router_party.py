from __future__ import annotations

import pytest

from tests.unit.router_parts import findings, said


@pytest.mark.parametrize(
    ("query", "party"),
    [
        ("제주 가족여행", ["family"]),
        ("혼자 여행하기 좋은 곳", ["solo"]),
        ("커플 여행", ["couple"]),
        ("신혼여행 발리", ["couple"]),
        ("여자친구랑 데이트", ["couple"]),
        ("친구들이랑 부산", ["friends"]),
        ("부모님 모시고 경주", ["parents"]),
        ("회사 워크숍 장소", ["colleagues"]),
        ("family trip", ["family"]),
        ("solo travel in Kyoto", ["solo"]),
        ("romantic weekend with my wife", ["couple"]),
        ("with my parents", ["parents"]),
        ("a trip with friends", ["friends"]),
        ("家族旅行", ["family"]),
        ("一人旅におすすめ", ["solo"]),
        ("両親と温泉", ["parents"]),
        ("友達と釜山", ["friends"]),
        ("여행 추천", []),
    ],
)
def test_the_kind_of_party_is_found(query: str, party: list[str]) -> None:
    assert said(query, "party") == party


@pytest.mark.parametrize(
    ("query", "counts"),
    [
        ("어른 2명 아이 1명", ["adults 2", "children 1", "party_size 3"]),
        ("성인 둘 아이 셋", ["adults 2", "children 3", "party_size 5"]),
        ("2 adults and 2 kids", ["adults 2", "children 2", "party_size 4"]),
        ("大人2人子供1人", ["adults 2", "children 1", "party_size 3"]),
        ("4인 가족", ["party_size 4"]),
        ("친구 네 명이서", ["party_size 4"]),
        ("둘이서 제주", ["party_size 2"]),
        ("family of four", ["party_size 4"]),
        ("for 6 people", ["party_size 6"]),
        ("a table for two", ["party_size 2"]),
        ("3人で福岡", ["party_size 3"]),
        ("아이 둘이랑", ["children 2"]),
        ("with a toddler", ["children 1"]),
        ("with kids", ["children some"]),
        ("아이랑 부산", ["children some"]),
        ("10살 아이랑", ["children some"]),
        ("子連れ旅行", ["children some"]),
    ],
)
def test_heads_are_counted(query: str, counts: list[str]) -> None:
    assert said(query, "adults", "children", "party_size") == counts


@pytest.mark.parametrize(
    "query",
    [
        "아이스크림 맛집",
        "아기자기한 카페",
        "아이디어 좀",
        "딸기 체험",
        "인기 있는 곳",
        "4인용 식탁이 아니라",
        "東京で人気の店",
        "3개월",
    ],
)
def test_words_that_hold_a_child_or_a_head_are_none(query: str) -> None:
    assert [text for text in said(query, "children", "party") if text] == []


def test_children_who_stay_at_home_are_excluded() -> None:
    assert said("without kids", "children") == ["not some"]


def test_a_size_that_follows_from_others_cites_no_words() -> None:
    texts = {slot.name: slot.text for slot in findings("2 adults, 1 child").slots}
    assert texts["party_size"] == ""
