from __future__ import annotations

import pytest

from headway.slots import excluded, wanted
from services.router.found import clean
from services.router.places import PlaceFinder
from tests.unit.router_parts import findings, said


@pytest.mark.parametrize(
    "name",
    ["제주", "제주도", "제주시", "Jeju", "jeju island", "済州", "済州島", "チェジュ島", "济州岛", "서귀포", "애월"],
)
def test_every_name_of_jeju_gives_the_slug_of_the_catalogue(name: str) -> None:
    assert said(f"{name} 3박4일", "destination") == ["jeju"]


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("서울에서 아이랑 갈 만한 곳", ["seoul"]),
        ("부산여행코스", ["busan"]),
        ("강릉맛집 추천", ["gangneung"]),
        ("경주로 가족여행", ["gyeongju"]),
        ("해운대 호텔", ["busan"]),
        ("오사카 교토 4박5일", ["osaka", "kyoto"]),
        ("도쿄·후쿠오카 여행", ["tokyo", "fukuoka"]),
        ("London, Paris and New York in ten days", ["london", "paris", "new-york"]),
        ("a weekend in nyc", ["new-york"]),
        ("東京都内の美術館", ["tokyo"]),
        ("京都と大阪", ["kyoto", "osaka"]),
        ("パリの美術館", ["paris"]),
        ("ニューヨークで年越し", ["new-york"]),
        ("ソウル 明洞のホテル", ["seoul"]),
        ("여수 밤바다", ["yeosu"]),
        ("방콕 4박6일", ["bangkok"]),
        ("Barcelona with friends", ["barcelona"]),
        ("São Paulo trip", ["sao-paulo"]),
        ("salzburg 2 days", ["salzburg"]),
        ("괌 가족여행", ["guam"]),
        ("일본 온천 여행", ["japan"]),
        ("札幌の冬", ["sapporo"]),
    ],
)
def test_destinations_come_in_the_order_of_the_query(query: str, slugs: list[str]) -> None:
    assert said(query, "destination") == slugs


@pytest.mark.parametrize(
    "query",
    [
        "나라별 환율 알려줘",
        "진주 목걸이 선물",
        "공주 드레스",
        "예산 50만원",
        "파리바게트 신메뉴",
        "a nice long reading list",
        "is my mobile phone orange?",
        "best temple for a date",
        "it was a surprise for Mary and George",
        "パリパリのチキン",
        "国立公園に行きたい",
        "see you in March",
        "soul food please",
        "3일 후에 갈 곳",
        "뭐 하고 놀까",
        "강아지랑 갈 수 있는 곳",
    ],
)
def test_words_that_only_look_like_cities_are_no_places(query: str) -> None:
    assert said(query, "destination") == []


@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("trip to Nice", "nice"),
        ("hotels in Bath", "bath"),
        ("공주 여행 1박2일", "gongju"),
        ("나라현 당일치기", "nara"),
        ("상주 맛집", "sangju"),
    ],
)
def test_ambiguous_names_are_places_where_the_words_around_say_so(query: str, slug: str) -> None:
    assert said(query, "destination") == [slug]


def test_the_longest_name_wins() -> None:
    assert said("東京都", "destination") == ["tokyo"]
    assert said("京都", "destination") == ["kyoto"]
    assert said("new york", "destination") == ["new-york"]


@pytest.mark.parametrize(
    ("query", "in_", "out"),
    [
        ("부산 말고 강릉", ("gangneung",), ("busan",)),
        ("강릉, 부산은 빼고", ("gangneung",), ("busan",)),
        ("부산이랑 강릉 빼고 바다", (), ("busan", "gangneung")),
        ("제주 제외 국내여행", (), ("jeju",)),
        ("not Osaka but Kyoto", ("kyoto",), ("osaka",)),
        ("Japan except Tokyo and Osaka", ("japan",), ("tokyo", "osaka")),
        ("anywhere but Paris", (), ("paris",)),
        ("instead of London, Paris", ("paris",), ("london",)),
        ("大阪以外で関西", ("kansai",), ("osaka",)),
        ("東京ではなく京都", ("kyoto",), ("tokyo",)),
        ("제주 안 가본 곳", ("jeju",), ()),
    ],
)
def test_places_that_are_ruled_out_are_marked(query: str, in_: tuple[str, ...], out: tuple[str, ...]) -> None:
    slots = findings(query).slots
    assert wanted(slots, "destination") == in_
    assert excluded(slots, "destination") == out


def test_ruling_out_a_part_of_a_city_keeps_the_city() -> None:
    assert said("Tokyo except Shibuya", "destination", "exclusion") == ["destination tokyo", "exclusion not shibuya"]


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("서울에서 제주로 2박3일", ["jeju"]),
        ("서울 출발 부산 당일치기", ["busan"]),
        ("서울에서 부산 1박2일", ["busan"]),
        ("서울에서 강남 맛집", ["seoul"]),
        ("from Seoul to Tokyo", ["tokyo"]),
        ("東京から大阪へ", ["osaka"]),
        ("서울에서 2박3일", ["seoul"]),
        ("day trips from Seoul", ["seoul"]),
    ],
)
def test_where_a_trip_starts_is_no_destination(query: str, slugs: list[str]) -> None:
    assert said(query, "destination") == slugs


def test_the_words_of_the_query_are_cited_as_written() -> None:
    slot = findings("JEJU Island trip").slots[0]
    assert (slot.value, slot.text) == ("jeju", "JEJU Island")


def test_a_domain_without_places_finds_what_the_gazetteer_knows() -> None:
    places = PlaceFinder({}, [("paris", "paris", False), ("paris", "paris-texas", False)])
    assert [each.slot.value for each in places.find(clean("Paris, please"))] == ["paris"]


@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("레이캬비크 2박3일 여행", "reykjavik"),
        ("レイキャヴィークへ3泊5日", "reykjavik"),
        ("雷克雅未克自由行", "reykjavik"),
        ("레이캬비크", "reykjavik"),
        ("잘츠부르크에서 뭐 하지", "salzburg"),
        ("루체른 2박", "luzern"),
        ("리옹 3박4일", "lyon"),
        ("Bergen 4 days", "bergen"),
        ("여수 1박2일", "yeosu"),
        ("뉴욕 시 3일", "new-york"),
        ("강릉시 1박2일", "gangneung"),
        ("Toyko with kids", "tokyo"),
        ("오사까 3박4일", "osaka"),
    ],
)
def test_cities_of_the_gazetteer_are_found_by_their_names_in_other_scripts(query: str, slug: str) -> None:
    assert said(query, "destination") == [slug]


@pytest.mark.parametrize(
    "query",
    [
        "미리 숙소 예약해 둘까",
        "테마 여행 추천",
        "너를 위해 여행 갈게",
        "크리스마스 이브 여행",
        "오로라 여행",
        "로드 여행",
        "세트 여행 상품",
        "같이 가자 여행",
        "리옹이라는 말",
    ],
)
def test_short_names_that_are_words_too_are_no_places(query: str) -> None:
    assert said(query, "destination") == []


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("3-day trip to Zermatt", "zermatt"),
        ("hotels in Cinque Terre", "cinque-terre"),
        ("visiting Giethoorn with kids", "giethoorn"),
        ("석모도 1박2일", "석모도"),
    ],
)
def test_a_destination_that_nobody_knows_is_one_all_the_same(query: str, value: str) -> None:
    assert said(query, "destination") == [value]


@pytest.mark.parametrize(
    "query",
    [
        "a trip to remember",
        "A Weekend In The Alps",
        "trip in March",
        "going to Mom",
        "무인도 여행 추천",
        "아이들도 여행 추천",
        "부모님도 2박3일",
        "효도 여행",
    ],
)
def test_what_may_be_no_name_is_no_destination(query: str) -> None:
    assert said(query, "destination") == []
