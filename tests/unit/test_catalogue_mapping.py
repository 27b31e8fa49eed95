"""Mapping files, and how names of places become slugs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.catalogue.conversion import convert
from headway.catalogue.geography import city_slug, country_code, country_of_city, romanised, slug
from headway.catalogue.plaintext import plain, shorten
from headway.catalogue.record import Record, RecordError, record_from
from headway.catalogue.shape import Shape, ShapeError, load_shape, shipped_names


def mapped(tmp_path: Path, toml: str) -> Shape:
    file = tmp_path / "mapping.toml"
    file.write_text(toml, encoding="utf-8")
    return load_shape(str(file))


def converted(row: Any, shape: Shape) -> Record:
    return convert(row, shape).record


def test_every_mapping_that_ships_can_be_read() -> None:
    assert {"default", "kr-standard", "sgd", "openstreetmap"} <= set(shipped_names())
    for name in shipped_names():
        assert load_shape(name).name == name


def test_paths_constants_kinds_lists_and_thresholds(tmp_path: Path) -> None:
    shape = mapped(
        tmp_path,
        """
        row = "1"
        rest = false
        [constants]
        city = "Busan"
        source = "city hall"
        "extra.licence" = "open"
        [fields]
        "names.ko" = "info.title"
        names = { path = ["missing", "info.english"], language = "en" }
        kind = "info.type"
        tags = { path = "info.marks", split = "/" }
        price_level = { path = "info.won", thresholds = [0, 10000, 50000] }
        "extra.seats" = "info.rooms.0.seats"
        [kinds]
        inn = "lodging"
        [tags]
        "바다" = "beach"
        """,
    )
    row = [
        "Moon Inn",
        {
            "info": {
                "title": "달여관",
                "english": "Moon Inn",
                "type": "Inn",
                "marks": "바다/Late Bar",
                "won": "12,000",
                "rooms": [{"seats": 4}],
            }
        },
    ]
    record = converted(row, shape)
    assert (record.kind, record.city, record.country, record.source) == ("lodging", "busan", "KR", "city hall")
    assert dict(record.names) == {"en": "Moon Inn", "ko": "달여관"}
    assert record.tags == ("beach", "late-bar")
    assert record.price_level == 2
    assert dict(record.extra) == {"licence": "open", "seats": 4}


def test_records_inside_of_a_document_are_found_by_path(tmp_path: Path) -> None:
    from headway.catalogue.importing import import_bytes

    shape = mapped(tmp_path, 'records = "answer.places"\n[constants]\ncity = "jeju"\nkind = "food"')
    report = import_bytes(b'{"answer":{"places":[{"name":"A"},{"name":"B"}]}}', "x.json", "json", shape)
    assert [record.names["en"] for record in report.records] == ["A", "B"]
    wrong = import_bytes(b'{"places":[]}', "x.json", "json", shape)
    assert "answer.places" in wrong.skipped[0].reason


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("filds = {}", "unknown entries filds"),
        ("fields = 3", "fields must be a table"),
        ('[fields]\nnaem = "x"', "'naem' is not a field"),
        ("[fields]\nkind = 3", "kind needs a path"),
        ('[fields]\nkind = { path = "x", spilt = "," }', "unknown entries spilt"),
        ('[fields]\nprice_level = { path = "x", thresholds = [5, 1] }', "rising numbers"),
        ("not toml", "mapping"),
    ],
)
def test_a_mapping_with_a_mistake_is_refused_by_name(tmp_path: Path, toml: str, complaint: str) -> None:
    with pytest.raises(ShapeError, match="mapping") as caught:
        mapped(tmp_path, toml)
    assert complaint in str(caught.value)


def test_a_mapping_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(ShapeError, match="kr-standard"):
        load_shape("no-such-mapping")


def test_a_mapping_may_stand_alone(tmp_path: Path) -> None:
    shape = mapped(tmp_path, 'inherit = false\n[fields]\nnames = "n"\nkind = "k"\ncity = "c"')
    assert converted({"n": "A", "k": "Inn", "c": "Seoul"}, shape).kind == "inn"
    with pytest.raises(RecordError):
        converted({"name": "A", "kind": "food", "city": "seoul"}, shape)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("New York", "new-york"),
        ("Saint-Étienne", "saint-etienne"),
        ("경주", "gyeongju"),
        ("강릉시", "gangneung"),
        ("경상북도 경주시 불국로 385", "gyeongju"),
        ("서울특별시 서초구", "seoul"),
        ("제주특별자치도 서귀포시", "jeju"),
        ("서귀포시", "jeju"),
        ("전북특별자치도 전주시", "jeonju"),
        ("광주광역시 동구", "gwangju"),
        ("울릉군", "ulleung"),
        ("", ""),
    ],
)
def test_cities_become_slugs(text: str, expected: str) -> None:
    assert city_slug(text) == expected


@pytest.mark.parametrize(
    ("hangul", "latin"),
    [("신라", "silla"), ("독립", "dongnip"), ("왕십리", "wangsimni"), ("합천", "hapcheon"), ("A동", "Adong")],
)  # fmt: skip
def test_korean_is_spelled_by_sound(hangul: str, latin: str) -> None:
    assert romanised(hangul) == latin


def test_countries_are_known_by_code_and_by_name() -> None:
    assert [country_code(text) for text in ("KR", "jpn", "France", "대한민국", "Atlantis")] == [
        "KR",
        "JP",
        "FR",
        "KR",
        "",
    ]
    assert [country_of_city(city) for city in ("london", "new-york", "nowhere-at-all")] == ["GB", "US", ""]


@given(st.text(max_size=60))
def test_slugs_are_slugs(text: str) -> None:
    made = slug(text)
    assert made == slug(made)
    if made:
        data = {"id": "x", "kind": "sight", "names": {"en": "A"}, "city": made, "source": "test"}
        assert record_from(data).city == made


@given(st.text(max_size=300), st.integers(min_value=2, max_value=120))
def test_plain_text_is_one_short_line_and_stays_as_it_is(text: str, limit: int) -> None:
    once = plain(text, limit)
    assert len(once) <= limit
    assert "\n" not in once
    assert not any(ord(character) < 32 for character in once)
    assert shorten(once, limit) == once


def test_text_is_cut_after_a_sentence_where_that_leaves_enough() -> None:
    assert shorten("First one. Second one goes on and on.", 20) == "First one."
    assert shorten("노을이 곱다. 두 번째 문장은 길게 이어진다.", 12) == "노을이 곱다."
    assert shorten("one two three four", 12) == "one two…"
    assert shorten("abcdefghijkl", 6) == "abcde…"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"id": ""}, "id:"),
        ({"id": "a b"}, "no spaces"),
        ({"kind": "Sight"}, "kind:"),
        ({"names": {}}, "names: is missing"),
        ({"names": {"Korean": "x"}}, "not a language code"),
        ({"names": {"en": "a\nb"}}, "plain text"),
        ({"city": None}, "city: is missing"),
        ({"country": "Korea"}, "two-letter"),
        ({"lat": 91.0, "lon": 1.0}, "lat:"),
        ({"lat": 1.0}, "without the other"),
        ({"tags": ["Not A Slug"]}, "tags:"),
        ({"price_level": 5}, "price_level:"),
        ({"price_level": True}, "price_level:"),
        ({"child_friendly": "yes"}, "child_friendly:"),
        ({"as_of": "yesterday"}, "as_of:"),
        ({"url": "ftp://x"}, "url:"),
        ({"extra": {"x": [1]}}, "extra:"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_what_is_wrong_with_a_record_is_named(change: dict[str, Any], complaint: str) -> None:
    data = {"id": "x", "kind": "sight", "names": {"en": "A"}, "city": "jeju", "source": "test", **change}
    with pytest.raises(RecordError, match=re.escape(complaint)):
        record_from(data)


def test_the_examples_of_the_guide_are_valid(root: Path, tmp_path: Path) -> None:
    guide = (root / "docs" / "guides" / "catalogue.md").read_text(encoding="utf-8")
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", guide, re.MULTILINE)
    blocks = ["\n".join(line[4:] for line in block.splitlines()) for block in found]
    example = next(block for block in blocks if "Moonlight Harbour" in block)
    assert record_from(json.loads(example)).city == "jeju"
    mapping = next(block for block in blocks if "[constants]" in block)
    assert mapped(tmp_path, mapping).kinds["*"] == "sight"
    named = next(line for line in guide.splitlines() if "`openstreetmap`" in line)
    assert set(re.findall(r"`([a-z-]+)`", named)) == set(shipped_names()) - {"default"}
