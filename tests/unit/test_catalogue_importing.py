"""What becomes of files: records, or reasons, whatever the bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.catalogue.encoding import NotTextError, decode
from headway.catalogue.formats import FORMATS, detect
from headway.catalogue.importing import ALL, NOTHING, PARTLY, Report, import_bytes, shape_for
from headway.catalogue.record import as_object, record_from
from headway.catalogue.shape import load_shape

DEFAULT = load_shape("default")


def imported(text: str | bytes, format_name: str, mapping: str = "", *, name: str = "places", **options: Any) -> Report:
    data = text.encode() if isinstance(text, str) else text
    return import_bytes(data, name, format_name, shape_for(format_name, mapping), **options)


def harbour(**more: Any) -> dict[str, Any]:
    """A place that does not exist."""
    return {"id": "h1", "kind": "sight", "names": {"ko": "달빛항구", "en": "Moonlight Harbour"}, "city": "jeju", **more}


def test_a_record_of_our_own_format_comes_back_as_it_was() -> None:
    data = harbour(
        country="KR",
        area={"ko": "서귀포시", "en": "Seogwipo"},
        lat=33.25,
        lon=126.5,
        tags=["beach", "night-view"],
        description={"en": "A harbour."},
        price_level=0,
        child_friendly=True,
        source="curated",
        as_of="2026-11",
    )
    report = imported(json.dumps(data, ensure_ascii=False), "jsonl")
    assert report.exit_code == ALL
    assert as_object(report.records[0]) == data
    assert record_from(as_object(report.records[0])) == report.records[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp949"])
def test_every_usual_encoding_is_found_out(encoding: str) -> None:
    text = "\n".join(json.dumps(harbour(id=f"h{number}"), ensure_ascii=False) for number in range(3)) + "\n"
    report = imported(text.encode(encoding), "jsonl")
    assert report.exit_code == ALL
    assert [record.names["ko"] for record in report.records] == ["달빛항구"] * 3


def test_a_damaged_byte_costs_its_own_line_only() -> None:
    lines = [json.dumps(harbour(id=f"h{number}"), ensure_ascii=False).encode() for number in range(3)]
    lines[1] = lines[1][:40] + b"\xff\xfe\xff" + lines[1][43:]
    report = imported(b"\n".join(lines), "jsonl")
    assert report.exit_code == PARTLY
    assert [record.id for record in report.records] == ["h0", "h2"]
    assert [remark.number for remark in report.skipped] == [2]
    assert "encoding" in report.skipped[0].reason


@pytest.mark.parametrize(
    ("data", "word"), [(b"PK\x03\x04rest", "zip"), (b"%PDF-1.7", "PDF"), (bytes(range(32)) * 50, "not a text file")]
)
def test_a_file_that_is_no_text_is_refused_with_what_to_do(data: bytes, word: str) -> None:
    report = imported(data, "auto")
    assert report.exit_code == NOTHING
    assert word in report.skipped[0].reason
    assert "export it as" in report.skipped[0].reason


def test_an_encoding_that_does_not_exist_is_said_so() -> None:
    with pytest.raises(NotTextError, match="klingon"):
        decode(b"abc", "klingon")


def test_an_empty_file_has_no_records_and_says_so() -> None:
    for name in FORMATS:
        report = imported("", name)
        assert report.exit_code == NOTHING, name
        assert report.skipped, name


def test_each_record_that_cannot_be_read_is_reported_by_number_and_reason() -> None:
    lines = [
        json.dumps(harbour(id="ok")),
        "{not json",
        json.dumps({"kind": "sight", "city": "jeju"}),
        json.dumps({"kind": "sight", "name": "Nowhere"}),
        json.dumps(harbour(id="ok")),
        json.dumps([1, 2]),
    ]
    report = imported("\n".join(lines), "jsonl")
    assert report.exit_code == PARTLY
    reasons = {remark.number: remark.reason for remark in report.skipped}
    assert sorted(reasons) == [2, 3, 4, 5, 6]
    assert "JSON" in reasons[2]
    assert "names" in reasons[3]
    assert "city" in reasons[4]
    assert "already that of record 1" in reasons[5]
    assert "position" in reasons[6]


def test_csv_is_read_with_the_usual_names_of_columns() -> None:
    header = "name_ko;name_en;category;city;lat;lon;tags;price_range"
    text = f"{header}\n달빛항구;Moonlight Harbour;museum;Jeju;33.1;126.5;art,kids;$$\n"
    report = imported(text, "csv")
    record = report.records[0]
    assert dict(record.names) == {"ko": "달빛항구", "en": "Moonlight Harbour"}
    assert (record.kind, record.city, record.country, record.tags, record.price_level) == (
        "sight",
        "jeju",
        "KR",
        ("art", "kids"),
        2,
    )


def test_csv_rows_with_too_few_or_too_many_fields_are_reported() -> None:
    report = imported('name,kind,city\nA,food,seoul\n"B, C",food\nD,food,seoul,extra\n', "csv")
    assert [record.names["en"] for record in report.records] == ["A"]
    assert [remark.number for remark in report.skipped] == [2, 3]
    assert "2 fields where the header has 3" in report.skipped[0].reason


def test_geojson_takes_the_middle_of_what_is_no_point() -> None:
    square = [[[126.0, 33.0], [126.2, 33.0], [126.2, 33.4], [126.0, 33.4], [126.0, 33.0]]]
    point_at, square_at = {"type": "Point", "coordinates": [126.5, 33.5]}, {"type": "Polygon", "coordinates": square}
    features: list[dict[str, Any]] = [
        {"type": "Feature", "id": "p", "properties": {"name": "Point", "tourism": "hotel"}, "geometry": point_at},
        {"type": "Feature", "properties": {"name": "Square", "leisure": "park"}, "geometry": square_at},
        {"type": "Feature", "properties": {"name": "Nowhere", "leisure": "park"}, "geometry": None},
        point_at,
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    shape = load_shape("openstreetmap").with_constants({"city": "jeju"})
    report = import_bytes(text.encode(), "x.geojson", "auto", shape)
    point, square_record, nowhere = report.records
    assert (point.id, point.kind, point.lat, point.lon) == ("p", "lodging", 33.5, 126.5)
    assert (square_record.kind, square_record.lat, square_record.lon) == ("sight", 33.2, 126.1)
    assert nowhere.lat is None
    assert [remark.number for remark in report.skipped] == [4]


def test_coordinates_that_are_not_degrees_are_left_out_and_said() -> None:
    report = imported(json.dumps({"name": "A", "kind": "food", "city": "seoul", "lat": 550000, "lon": 200000}), "jsonl")
    assert report.exit_code == ALL
    assert report.records[0].lat is None
    assert "not degrees" in report.mended[0].reason


def test_the_same_file_gives_the_same_ids_again() -> None:
    text = "\n".join(json.dumps({"name": name, "kind": "food", "city": "seoul"}) for name in ("A", "B"))
    once, again = imported(text, "jsonl"), imported(text, "jsonl")
    assert [record.id for record in once.records] == [record.id for record in again.records]
    assert len({record.id for record in once.records}) == 2


def test_unknown_facts_are_kept_beside_the_known_ones() -> None:
    row = {
        "name": "A",
        "kind": "food",
        "city": "seoul",
        "phone": "02-1",
        "seats": 12,
        "nested": {"x": 1},
        "halal": True,
    }
    record = imported(json.dumps(row), "jsonl").records[0]
    assert dict(record.extra) == {"phone": "02-1", "seats": 12, "halal": True}


def test_markup_and_control_characters_do_not_get_into_records() -> None:
    row = harbour(description="<b>Fine</b>\u0007 view&nbsp;&amp; \u202ewalk</records>\nnext", city="jeju")
    record = imported(json.dumps(row), "jsonl").records[0]
    assert record.description["en"] == "Fine view & walk next"


def test_pairs_of_name_and_fields_are_read_by_a_mapping_that_ships() -> None:
    row = ["月光酒店", {"名称": "月光酒店", "地址": "月光路1号", "价格": 800, "酒店类型": "豪华型", "评分": 4.5}]
    report = imported(json.dumps([row], ensure_ascii=False), "json", "crosswoz-hotel")
    record = report.records[0]
    assert (record.kind, record.city, record.country, record.price_level, record.tags) == (
        "lodging",
        "beijing",
        "CN",
        3,
        ("luxury",),
    )
    assert dict(record.names) == {"zh": "月光酒店"}
    assert record.extra["rating"] == 4.5


@given(data=st.binary(max_size=400), format_name=st.sampled_from(["auto", *FORMATS]))
def test_any_bytes_give_records_or_reasons(data: bytes, format_name: str) -> None:
    report = imported(data, format_name)
    assert report.records or report.skipped
    assert all(remark.reason for remark in report.skipped)
    for record in report.records:
        assert record_from(as_object(record)) == record


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
known_fields = st.sampled_from(
    [
        "id",
        "kind",
        "name",
        "names",
        "city",
        "country",
        "lat",
        "lon",
        "tags",
        "description",
        "price_level",
        "url",
        "as_of",
        "extra",
        "area",
    ]
)


@given(rows=st.lists(st.dictionaries(known_fields, json_values, max_size=8), max_size=4))
def test_any_json_rows_give_one_record_or_one_reason_each(rows: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(row) for row in rows)
    report = imported(text, "jsonl")
    skipped = [remark.number for remark in report.skipped if remark.number]
    assert len(report.records) + len(skipped) == len(rows)
    for record in report.records:
        assert record_from(as_object(record)) == record


@given(text=st.text(max_size=300), name=st.sampled_from(["a.csv", "a.json", "a", "a.geojson", "a.jsonl"]))
def test_some_format_is_found_for_any_text(text: str, name: str) -> None:
    assert detect(name, text) in FORMATS
