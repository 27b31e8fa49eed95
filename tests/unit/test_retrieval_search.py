"""Searching the catalogue: conditions, their giving way, fusion, diversity, choice."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.catalogue import index as index_module
from headway.catalogue.index import Index, graph_over
from headway.catalogue.record import Record
from headway.domain import Domain, DomainError, load
from headway.slots import Relation, Slot
from services.retrieval import vectors as vectors_module
from services.retrieval.diversity import diverse
from services.retrieval.filters import pools
from services.retrieval.fusion import Ranking, fused, in_order
from services.retrieval.lexical import LexicalSearch, best, terms
from services.retrieval.policy import Rung
from services.retrieval.regions import Regions, regions
from services.retrieval.scopes import Part, Scope, scope_of
from services.retrieval.search import CatalogueSearch, Found, Wish
from services.retrieval.table import Table
from services.retrieval.vectors import VectorSearch
from services.retrieval.wanted import Place, Wanted, price_of, wanted_from

DIMENSIONS = 8


@functools.cache
def travel_domain() -> Domain:
    return load(Path(__file__).resolve().parents[2] / "domains" / "travel")


@pytest.fixture(scope="module")
def travel() -> Domain:
    return travel_domain()


def place(identity: str, city: str = "jeju", kind: str = "sight", **more: Any) -> Record:
    return Record(id=identity, kind=kind, names=more.pop("names", {"en": identity}), city=city, source="test", **more)


def axis(number: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[number % DIMENSIONS] = 1
    return vector


def index_of(records: Sequence[Record], vectors: Sequence[Any] = ()) -> Index:
    rows = np.array(vectors or [axis(number) for number in range(len(records))], dtype=np.float32)
    return Index(records=tuple(records), vectors=rows.reshape(len(records), DIMENSIONS), model="axes@1")


def searched(travel: Domain, records: Sequence[Record], *slots: Slot, rung: Rung = Rung.HYBRID, **more: Any) -> Found:
    known = more.pop("known", None)
    wish = Wish(
        query=more.pop("query", "somewhere"),
        wanted=wanted_from(slots, travel.tags),
        sections=more.pop("sections", ("sights",)),
        per_section=more.pop("per_section", 3),
        embedding=more.pop("embedding", axis(0)),
    )
    return CatalogueSearch(index_of(records, **more), travel, known).search(wish, rung)


def ids(found: Found) -> list[str]:
    return [hit.record.id for hit in found.hits]


JEJU = Slot(name="destination", value="jeju", text="제주도")
KIDS = Slot(name="children", value="some", text="아이")


# --- what slots mean ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ([Slot(name="party", value="family")], True),
        ([Slot(name="children", value="2", number=2.0)], True),
        ([KIDS], True),
        ([Slot(name="children", value="0", number=0.0)], False),
        ([Slot(name="party", value="couple")], False),
        ([Slot(name="party", value="family", relation=Relation.EXCLUDED)], False),
    ],
)
def test_children_are_known_by_party_or_by_number(slots: list[Slot], expected: bool) -> None:
    assert wanted_from(slots, ()).with_children is expected


def test_a_party_suggests_themes_beside_those_that_were_named() -> None:
    slots = [
        Slot(name="party", value="family"),
        Slot(name="theme", value="beach"),
        Slot(name="theme", value="unheard-of"),
    ]
    wanted = wanted_from(slots, {"beach", "family", "kids"})
    assert (wanted.themes, wanted.suggested) == (("beach",), ("family", "kids"))


def test_themes_and_words_can_be_ruled_out() -> None:
    slots = [
        Slot(name="theme", value="museum", relation=Relation.EXCLUDED),
        Slot(name="exclusion", value="seafood", relation=Relation.EXCLUDED),
        Slot(name="exclusion", value="고수", relation=Relation.EXCLUDED),
        Slot(name="destination", value="seoul", relation=Relation.EXCLUDED),
    ]
    wanted = wanted_from(slots, {"museum", "seafood"})
    assert wanted.no_tags == ("museum", "seafood")
    assert wanted.no_words == ("고수",)
    assert wanted.themes == ()
    assert [each.slug for each in wanted.no_places] == ["seoul"]


def budget(number: float, unit: str, relation: Relation = Relation.AT_MOST) -> Slot:
    return Slot(name="budget", value=str(number), number=number, unit=unit, relation=relation)


def test_a_budget_is_that_of_the_party_for_the_stay() -> None:
    days = Slot(name="days", value="4", number=4.0)
    two = Slot(name="party_size", value="2", number=2.0)
    assert wanted_from([budget(1_000_000, "KRW"), days, two], ()).most_price == price_of(91.25)
    assert wanted_from([budget(300_000, "KRW"), days, two], ()).most_price == 1
    assert wanted_from([budget(5000, "USD"), days, two], ()).most_price == 4


def test_a_budget_for_lodging_is_that_of_a_night() -> None:
    assert wanted_from([budget(100_000, "KRW")], (), intent="lodging_search").most_price == 2


def test_a_least_budget_is_a_preference_and_an_unknown_currency_is_none() -> None:
    wanted = wanted_from([budget(400, "USD", Relation.AT_LEAST)], ())
    assert (wanted.most_price, wanted.least_price) == (None, 4)
    assert wanted_from([budget(400, "XYZ")], ()).most_price is None


@given(st.floats(min_value=0, max_value=1e9), st.floats(min_value=0, max_value=1e9))
def test_more_money_never_means_a_lower_price_level(one: float, other: float) -> None:
    assert 1 <= price_of(min(one, other)) <= price_of(max(one, other)) <= 4


# --- conditions --------------------------------------------------------------------------------------------------


def test_only_the_place_asked_for_is_shown(travel: Domain) -> None:
    records = [place("a"), place("b", "seoul"), place("c")]
    assert set(ids(searched(travel, records, JEJU))) == {"a", "c"}
    assert set(ids(searched(travel, records))) == {"a", "b", "c"}


def test_a_place_that_is_not_there_gives_nothing_and_says_so(travel: Domain) -> None:
    found = searched(travel, [place("a")], Slot(name="destination", value="reykjavik", text="Reykjavik"))
    assert ids(found) == []
    assert found.unknown == ("reykjavik",)


def test_of_two_places_the_known_one_is_shown_and_the_other_is_said(travel: Domain) -> None:
    found = searched(travel, [place("a")], JEJU, Slot(name="destination", value="reykjavik"))
    assert ids(found) == ["a"]
    assert found.unknown == ("reykjavik",)


def test_a_place_may_be_a_country_a_city_by_its_korean_name_or_a_part_of_a_city() -> None:
    table = Table(
        [
            place("a", "tokyo", country="JP", area={"en": "Asakusa, Taito"}),
            place("b", "yeongwol", country="KR", area={"ko": "강원 영월군"}),
        ]
    )
    assert table.at("japan").tolist() == [True, False]
    assert table.at("neietsu", "영월").tolist() == [False, True]
    assert table.at("asakusa").tolist() == [True, False]
    assert table.at("nowhere", "").tolist() == [False, False]


def test_excluded_places_stay_out(travel: Domain) -> None:
    records = [place("a"), place("b", "seoul")]
    assert ids(searched(travel, records, Slot(name="destination", value="seoul", relation=Relation.EXCLUDED))) == ["a"]


def test_sections_get_their_own_kinds(travel: Domain) -> None:
    records = [place("s"), place("f", kind="food"), place("l", kind="lodging"), place("e", kind="event")]
    found = searched(travel, records, sections=("food", "sights"))
    assert {(hit.section, hit.record.id) for hit in found.hits} == {("food", "f"), ("sights", "s"), ("sights", "e")}


def test_what_suits_children_is_enough_where_it_fills_a_third(travel: Domain) -> None:
    records = [place("no", child_friendly=False), place("unknown"), place("yes", child_friendly=True)]
    found = searched(travel, records, KIDS, per_section=3)
    assert (ids(found), found.given_up, found.relaxed) == (["yes"], (), {})


def test_what_suits_children_comes_first_then_the_unknown_then_the_unsuitable(travel: Domain) -> None:
    records = [place("no", child_friendly=False), place("unknown"), place("yes", child_friendly=True)]
    two = searched(travel, records, KIDS, per_section=6)
    assert (ids(two), two.given_up) == (["yes", "unknown"], ("child_friendly",))
    three = searched(travel, records, KIDS, per_section=9)
    assert (ids(three), three.given_up) == (["yes", "unknown", "no"], ("child_friendly", "child_unsuitable"))
    assert [(each.condition, each.fitting) for each in three.relaxed["sights"]] == [
        ("child_friendly", 1),
        ("child_unsuitable", 2),
    ]


def test_the_budget_gives_way_after_the_unknown_and_before_the_unsuitable(travel: Domain) -> None:
    records = [
        place("dear", child_friendly=True, price_level=4),
        place("cheap", child_friendly=True, price_level=1),
        place("cheap-unknown", price_level=1),
        place("cheap-unsuitable", child_friendly=False, price_level=1),
    ]
    found = searched(travel, records, KIDS, budget(50, "USD"), per_section=12)
    assert ids(found)[:2] == ["cheap", "cheap-unknown"]
    assert found.given_up == ("child_friendly", "price_level", "child_unsuitable")
    assert ids(found)[2:] == ["dear", "cheap-unsuitable"]


def test_beyond_the_budget_the_cheaper_come_first_whatever_else_they_are(travel: Domain) -> None:
    records = [place(f"level-{level}", price_level=level) for level in (4, 3, 2)] + [place("no-price")]
    found = searched(travel, records, budget(50, "USD"), per_section=12, embedding=axis(0))
    assert ids(found) == ["no-price", "level-2", "level-3", "level-4"]
    assert [(each.condition, each.fitting) for each in found.relaxed["sights"]] == [
        ("price_unknown", 0),
        ("price_level", 1),
    ]


def test_nothing_beyond_the_budget_is_shown_where_enough_is_within(travel: Domain) -> None:
    records = [place(f"dear-{number}", price_level=4) for number in range(5)] + [place("cheap", price_level=1)]
    found = searched(travel, records, budget(50, "USD"), per_section=3)
    assert (ids(found), found.given_up) == (["cheap"], ())


def test_what_is_ruled_out_never_comes_back(travel: Domain) -> None:
    records = [place("m", tags=("museum",)), place("c", names={"ko": "고수식당", "en": "Gosu"})]
    slots = [
        Slot(name="theme", value="museum", relation=Relation.EXCLUDED),
        Slot(name="exclusion", value="고수", relation=Relation.EXCLUDED),
    ]
    found = searched(travel, records, JEJU, *slots)
    assert ids(found) == []
    assert found.short == {"sights": 0}


def test_a_place_without_anything_of_a_kind_gives_what_is_near_and_says_so(travel: Domain) -> None:
    here = place("sight", "gyeongju", lat=35.84, lon=129.21)
    near = place("hotel-near", "busan", "lodging", lat=35.16, lon=129.16)
    nearer = place("hotel-nearer", "ulsan", "lodging", lat=35.54, lon=129.31)
    far = place("hotel-far", "seoul", "lodging", lat=37.57, lon=126.98)
    asked = Slot(name="destination", value="gyeongju")
    found = searched(travel, [here, near, nearer, far], asked, sections=("lodging",))
    assert ids(found) == ["hotel-nearer"]
    assert found.nearby == {"lodging": ("ulsan",)}
    assert found.given_up == ("destination",)
    alone = searched(travel, [here, far], asked, sections=("lodging",))
    assert (ids(alone), alone.nearby) == ([], {})


def test_little_in_a_place_is_not_filled_up_from_elsewhere(travel: Domain) -> None:
    one = place("one", "gyeongju", lat=35.84, lon=129.21)
    others = [place(f"o{number}", "ulsan", lat=35.54, lon=129.31) for number in range(9)]
    found = searched(travel, [one, *others], Slot(name="destination", value="gyeongju"), per_section=9)
    assert ids(found) == ["one"]
    assert found.short == {"sights": 1}


records_strategy = st.lists(
    st.builds(
        lambda number, city, kind, child, price, tags: (number, city, kind, child, price, tags),
        st.integers(0, 10**6),
        st.sampled_from(["jeju", "seoul", "tokyo"]),
        st.sampled_from(["sight", "food", "lodging"]),
        st.sampled_from([True, False, None]),
        st.sampled_from([None, 0, 1, 2, 3, 4]),
        st.lists(st.sampled_from(["museum", "beach", "kids"]), unique=True),
    ),
    max_size=25,
)


def some_places(*slugs: str) -> st.SearchStrategy[tuple[Place, ...]]:
    return st.lists(st.sampled_from([Place(slug=slug) for slug in slugs]), max_size=2).map(tuple)


wanted_strategy = st.builds(
    Wanted,
    places=some_places("jeju", "seoul", "oslo"),
    no_places=some_places("tokyo", "seoul"),
    with_children=st.booleans(),
    most_price=st.sampled_from([None, 1, 3]),
    themes=st.lists(st.sampled_from(["beach", "kids"]), max_size=2, unique=True).map(tuple),
    no_tags=st.lists(st.sampled_from(["museum"]), max_size=1).map(tuple),
)


def built(rows: list[Any]) -> list[Record]:
    return [
        place(f"{position}-{number}", city, kind, child_friendly=child, price_level=price, tags=tuple(tags))
        for position, (number, city, kind, child, price, tags) in enumerate(rows)
    ]


def joined(scope: Scope) -> list[Part]:
    """All parts as one, without what may stand in for them."""
    return [Part(mask=scope.mask)]


@given(rows=records_strategy, wanted=wanted_strategy, enough=st.integers(1, 12))
def test_pools_are_disjoint_and_hold_what_never_gives_way(rows: list[Any], wanted: Wanted, enough: int) -> None:
    records = built(rows)
    table = Table(records)
    (part,) = joined(scope_of(table, wanted, Regions()))
    found = pools(table, part, table.everything(), wanted, ["sight"], enough)
    shown = [row for pool in found for row in pool.rows.tolist()]
    assert len(shown) == len(set(shown))
    for row in shown:
        record = records[row]
        assert record.kind == "sight"
        assert not set(record.tags) & set(wanted.no_tags)
        assert record.city not in {each.slug for each in wanted.no_places}
        assert not wanted.places or record.city in {each.slug for each in wanted.places}
    for row in found[0].rows.tolist():
        record = records[row]
        assert not wanted.with_children or record.child_friendly is True
        if wanted.most_price is not None:
            assert record.price_level is not None
            assert record.price_level <= wanted.most_price


@given(rows=records_strategy, wanted=wanted_strategy)
def test_everything_allowed_is_shown_when_enough_is_asked_for(rows: list[Any], wanted: Wanted) -> None:
    records = built(rows)
    table = Table(records)
    scope = scope_of(table, wanted, Regions())
    (part,) = joined(scope)
    found = pools(table, part, table.everything(), wanted, ["food"], 1000)
    shown = {row for pool in found for row in pool.rows.tolist()}
    allowed = {
        row
        for row, record in enumerate(records)
        if record.kind == "food" and scope.mask[row] and not set(record.tags) & set(wanted.no_tags)
    }
    assert shown == allowed


# --- rankings ----------------------------------------------------------------------------------------------------


def test_what_two_rankings_agree_on_wins() -> None:
    assert fused([in_order([1, 2, 3]), in_order([2, 4, 1])])[0][0] == 2
    assert fused([]) == []


def test_rows_that_tie_score_alike() -> None:
    scores = dict(fused([Ranking(groups=[[5, 3], [4]])]))
    assert scores[5] == scores[3] == 1 / 61
    assert scores[4] == 1 / 63


@given(st.lists(st.lists(st.integers(0, 20), unique=True, max_size=10), max_size=4))
def test_fusion_holds_every_row_once_best_first_whatever_the_order_of_rankings(rankings: list[list[int]]) -> None:
    result = fused(in_order(rows) for rows in rankings)
    assert sorted(row for row, _ in result) == sorted({row for rows in rankings for row in rows})
    assert [score for _, score in result] == sorted((score for _, score in result), reverse=True)
    turned = fused(in_order(rows) for rows in reversed(rankings))
    assert {row: pytest.approx(score) for row, score in turned} == dict(result)


@given(st.integers(1, 15), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_a_diverse_choice_has_no_repetition_and_begins_with_the_best(total: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(total, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevance = rng.random(total).tolist()
    chosen = diverse(relevance, vectors, count)
    assert len(chosen) == len(set(chosen)) == min(total, count)
    if chosen:
        assert chosen[0] == int(np.argmax(relevance))
    assert (
        diverse(relevance, vectors, count, balance=1.0)
        == np.argsort(-np.array(relevance), kind="stable")[:count].tolist()
    )


def test_of_two_that_are_alike_the_second_waits() -> None:
    vectors = np.array([[1, 0], [0.999, 0.0447], [0, 1]], dtype=np.float32)
    assert diverse([1.0, 0.9, 0.8], vectors, 3, balance=0.5) == [0, 2, 1]


@pytest.mark.parametrize("graph", [False, True])
def test_the_nearest_are_found_among_those_allowed(graph: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "GRAPH_FROM", 100)
    monkeypatch.setattr(vectors_module, "GRAPH_FROM", 100)
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    search = VectorSearch(rows, graph_over(rows) if graph else None)
    for among in (np.arange(400), np.arange(0, 400, 2), np.arange(7), np.arange(0)):
        exact = sorted(among.tolist(), key=lambda row: -float(rows[row] @ rows[3]))[:10]
        found = search.nearest(rows[3], among, 10)
        assert set(found) <= set(among.tolist())
        assert len(set(found) & set(exact)) >= min(9, len(exact))


def test_terms_of_korean_are_pairs_and_of_latin_words() -> None:
    assert terms("성산일출봉 Sunrise 2박") == ["성산", "산일", "일출", "출봉", "sunrise", "2", "박"]
    assert terms("清水寺ABC") == ["清水", "水寺", "abc"]
    assert terms("") == []


def test_names_are_found_by_a_part_with_its_ending(travel: Domain) -> None:
    records = [
        place("other", description={"ko": "바닷가에서 걷기 좋은 곳"}),
        place("peak", names={"ko": "성산일출봉", "en": "Sunrise Peak"}),
    ]
    search = LexicalSearch(records, travel.tags)
    among = np.arange(2)
    assert best(search.scores("성산일출봉에서 걷기"), among, 2)[0] == 1
    assert best(search.scores("SUNRISE"), among, 2) == [1]
    assert search.scores("xyzzy") is None
    assert search.scores("") is None
    assert best(None, among, 2) == []


def test_labels_of_tags_are_words_of_a_record(travel: Domain) -> None:
    search = LexicalSearch([place("a", tags=("beach",)), place("b", tags=("museum",))], travel.tags)
    assert best(search.scores("ビーチ"), np.arange(2), 2) == [0]
    assert best(search.scores("박물관"), np.arange(2), 2) == [1]


def test_themes_and_parts_of_a_city_move_records_forward(travel: Domain) -> None:
    records = [place(f"r{number}", area={"ko": "제주시"}) for number in range(5)]
    records += [place("themed", tags=("beach",), area={"ko": "제주시"}), place("inside", area={"ko": "제주시 애월읍"})]
    by_theme = searched(travel, records, JEJU, Slot(name="theme", value="beach", text="바다"), embedding=axis(7))
    assert ids(by_theme)[0] == "themed"
    by_area = searched(travel, records, Slot(name="destination", value="jeju", text="애월"), embedding=axis(7))
    assert ids(by_area)[0] == "inside"


@pytest.mark.parametrize("rung", list(Rung))
def test_every_rung_fills_what_it_is_asked_for(travel: Domain, rung: Rung) -> None:
    records = [place(f"r{number}") for number in range(6)]
    found = searched(travel, records, JEJU, rung=rung, query="바다", per_section=4)
    assert len(ids(found)) == len(set(ids(found))) == 4


def test_what_no_ranking_holds_fills_up_what_is_left(travel: Domain) -> None:
    records = [place("plain-1"), place("themed", tags=("beach",)), place("plain-2")]
    found = searched(travel, records, Slot(name="theme", value="beach"), rung=Rung.LEXICAL, query="?")
    assert ids(found)[0] == "themed"
    assert set(ids(found)) == {"themed", "plain-1", "plain-2"}


def test_an_empty_catalogue_is_searched_without_harm(travel: Domain) -> None:
    found = searched(travel, [], query="바다")
    assert (ids(found), found.short) == ([], {"sights": 0})


@given(rows=records_strategy, wanted=wanted_strategy, count=st.integers(1, 8), rung=st.sampled_from(list(Rung)))
def test_a_search_never_gives_too_many_nor_one_twice(rows: list[Any], wanted: Wanted, count: int, rung: Rung) -> None:
    travel = travel_domain()
    catalogue = CatalogueSearch(index_of(built(rows)), travel)
    wish = Wish(
        query="바다 museum", wanted=wanted, sections=travel.section_names(), per_section=count, embedding=axis(1)
    )
    found = catalogue.search(wish, rung)
    for section in travel.section_names():
        shown = [hit.record.id for hit in found.hits if hit.section == section]
        assert len(shown) == len(set(shown)) <= count


# --- places ------------------------------------------------------------------------------------------------------

TRIPS = Regions(trips=True)


def at(slug: str, text: str = "") -> Slot:
    return Slot(name="destination", value=slug, text=text or slug)


def two_cities(one: int, other: int) -> list[Record]:
    return [place(f"t{number}", "tokyo") for number in range(one)] + [
        place(f"o{number}", "osaka") for number in range(other)
    ]


def test_two_destinations_take_turns(travel: Domain) -> None:
    found = searched(travel, two_cities(8, 8), at("tokyo"), at("osaka"), per_section=6)
    assert [hit.record.city for hit in found.hits] == ["tokyo", "osaka"] * 3


def test_a_destination_with_little_leaves_its_turns_to_the_other(travel: Domain) -> None:
    found = searched(travel, two_cities(8, 1), at("osaka"), at("tokyo"), per_section=5)
    assert [hit.record.city for hit in found.hits] == ["osaka", "tokyo", "tokyo", "tokyo", "tokyo"]


def test_a_country_beside_a_city_in_it_only_says_where_the_city_is(travel: Domain) -> None:
    records = [place(f"t{number}", "tokyo", country="JP") for number in range(3)] + [place("o", "osaka", country="JP")]
    found = searched(travel, records, at("japan", "일본"), at("osaka", "오사카"))
    assert ids(found) == ["o"]
    assert {hit.record.city for hit in searched(travel, records, at("japan")).hits} == {"tokyo", "osaka"}


def test_a_country_does_not_stand_in_for_a_city_in_it_that_is_not_there(travel: Domain) -> None:
    found = searched(travel, [place("louvre", "paris", country="FR")], at("france"), at("nice"))
    assert (ids(found), found.unknown) == ([], ("nice",))


def test_a_region_is_the_cities_that_the_domain_says(travel: Domain) -> None:
    known = regions(travel.root)
    records = [place("g", "gangneung"), place("b", "busan")]
    assert known.trips
    assert ids(searched(travel, records, at("gangwon", "강원도"), known=known)) == ["g"]


def test_a_domain_without_places_has_no_regions_and_a_broken_file_is_named(tmp_path: Path) -> None:
    assert regions(tmp_path) == Regions()
    (tmp_path / "places.toml").write_text("[place.x]\ncities = 3", encoding="utf-8")
    with pytest.raises(DomainError, match=r"places\.toml"):
        regions(tmp_path)


def test_without_a_destination_one_city_is_chosen_for_all_sections(travel: Domain) -> None:
    records = [
        place(f"{city}-{kind}-{number}", city, kind, tags=("beach",) if city == "busan" else ())
        for city in ("jeju", "busan")
        for kind in ("lodging", "food", "sight")
        for number in range(3)
    ]
    theme = Slot(name="theme", value="beach", text="바다")
    found = searched(travel, records, theme, known=TRIPS, sections=travel.section_names(), embedding=None)
    assert found.assumed == "busan"
    assert {hit.record.city for hit in found.hits} == {"busan"}
    assert len(found.hits) == 9


def test_equal_votes_fall_to_the_city_with_more_that_fits(travel: Domain) -> None:
    records = [place("a", "jeju"), place("b", "osaka"), place("c", "osaka")]
    assert searched(travel, records, known=TRIPS, embedding=None, query="?").assumed == "osaka"


def test_a_domain_whose_records_lie_nowhere_in_particular_assumes_no_city(travel: Domain) -> None:
    found = searched(travel, two_cities(1, 1))
    assert (found.assumed, len(found.hits)) == ("", 2)


def test_a_record_that_is_named_says_the_city_and_nothing_is_assumed(travel: Domain) -> None:
    peak = place("peak", names={"ko": "성산일출봉", "en": "Seongsan Ilchulbong"}, lat=33.46, lon=126.94)
    records = [
        peak,
        place("near", kind="food", lat=33.47, lon=126.93),
        place("far", kind="food", lat=33.25, lon=126.41),
        place("elsewhere", "seoul", "food", lat=37.57, lon=126.98),
    ]
    found = searched(travel, records, known=TRIPS, query="성산일출봉 근처 맛집", sections=("food",), embedding=axis(2))
    assert (ids(found), found.assumed) == (["near", "far"], "")
    sights = searched(travel, [peak, place("other")], JEJU, query="성산일출봉 근처 볼거리")
    assert ids(sights) == ["other"]


def test_an_excluded_city_is_never_assumed(travel: Domain) -> None:
    out = Slot(name="destination", value="osaka", relation=Relation.EXCLUDED)
    assert searched(travel, two_cities(1, 9), out, known=TRIPS, embedding=None).assumed == "tokyo"


def test_nothing_is_assumed_of_an_empty_catalogue(travel: Domain) -> None:
    assert searched(travel, [], known=TRIPS).assumed == ""


def test_a_country_is_one_city_for_a_few_nights_and_several_for_many(travel: Domain) -> None:
    records = [place(f"{city}{number}", city, country="JP") for city in ("tokyo", "osaka") for number in range(2)]
    nights = [Slot(name="nights", value=str(count), number=float(count)) for count in (3, 9)]
    short, long = (searched(travel, records, at("japan"), each, known=TRIPS, per_section=4) for each in nights)
    assert {hit.record.city for hit in short.hits} == {short.assumed}
    assert short.assumed in {"tokyo", "osaka"}
    assert (long.assumed, len({hit.record.city for hit in long.hits})) == ("", 2)


def test_a_theme_that_nothing_meets_is_said_where_one_of_its_tags_would_do(travel: Domain) -> None:
    records = [place("bath", tags=("onsen",))]
    hot = [Slot(name="theme", value=tag, text="온천") for tag in ("hot-spring", "onsen")]
    vegan = Slot(name="theme", value="vegetarian", text="비건")
    elsewhere = place("green", "seoul", "food", tags=("vegetarian",))
    meal = place("meal", kind="food")
    assert searched(travel, [*records, meal, elsewhere], JEJU, *hot, vegan, sections=("food", "sights")).unmet == (
        "vegetarian",
    )
    assert searched(travel, [*records, meal, elsewhere], JEJU, *hot, vegan).unmet == ()
    assert searched(travel, [], JEJU, vegan).unmet == ()
