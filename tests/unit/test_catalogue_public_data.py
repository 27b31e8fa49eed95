"""The Korean public-data standard JSON, whole and as it is really published."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from headway.catalogue.importing import ALL, PARTLY, Report, import_bytes, shape_for
from headway.catalogue.mending import objects_of

FIELDS = [
    "관광지명",
    "관광지구분",
    "소재지도로명주소",
    "소재지지번주소",
    "위도",
    "경도",
    "관광지소개",
    "데이터기준일자",
]


def spot(number: int, **more: str) -> dict[str, str]:
    """A tourist spot that does not exist."""
    return {
        "관광지명": f"은하마을{number}",
        "관광지구분": "관광지",
        "소재지도로명주소": "강원특별자치도 강릉시 은하로 1",
        "위도": "37.75",
        "경도": "128.9",
        "관광지소개": "별이 잘 보이는 마을",
        "데이터기준일자": "2026-01-02",
        **more,
    }


def document(*records: str) -> str:
    fields = ",".join(json.dumps({"id": name}, ensure_ascii=False) for name in FIELDS)
    return '{"fields":[' + fields + '],"records":[' + ",".join(records) + "]}"


def written(record: dict[str, str]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def unescaped(record: dict[str, str]) -> str:
    """The record as careless publishers write it: quotes in texts stay as they are."""
    return "{" + ",".join(f'"{key}":"{value}"' for key, value in record.items()) + "}"


def standard(text: str, encoding: str = "cp949", format_name: str = "kr-standard") -> Report:
    return import_bytes(text.encode(encoding), "spots.json", format_name, shape_for("kr-standard", ""))


def test_a_whole_document_is_read() -> None:
    report = standard(document(written(spot(1)), written(spot(2))))
    assert report.exit_code == ALL
    record = report.records[0]
    assert (record.kind, record.city, record.country, record.as_of) == ("sight", "gangneung", "KR", "2026-01-02")
    assert (record.lat, record.lon) == (37.75, 128.9)
    assert dict(record.names) == {"ko": "은하마을1"}
    assert record.description["ko"] == "별이 잘 보이는 마을"


def test_one_record_a_line_is_read_as_well() -> None:
    report = standard("\n".join(written(spot(number)) for number in range(3)), "utf-8")
    assert (len(report.records), report.exit_code) == (3, ALL)


def test_quotes_that_nobody_escaped_are_mended_and_said() -> None:
    broken = spot(2, 관광지소개='옛 이름은 "별마을"이고, "하늘 아래 첫 동네"라고도 한다')
    report = standard(document(written(spot(1)), unescaped(broken), written(spot(3))))
    assert report.exit_code == ALL
    assert [record.names["ko"] for record in report.records] == ["은하마을1", "은하마을2", "은하마을3"]
    assert report.records[1].description["ko"] == broken["관광지소개"]
    assert [(remark.number, remark.reason) for remark in report.mended] == [
        (2, "quotes that were not escaped in 관광지소개")
    ]


def test_a_text_that_was_quoted_twice_means_the_text() -> None:
    report = standard(document(unescaped(spot(1, 관광지소개='"조용한 마을"')), written(spot(2))))
    assert report.records[0].description["ko"] == "조용한 마을"


def test_a_document_whose_last_record_is_broken_is_read_to_its_end() -> None:
    report = standard(document(written(spot(1)), unescaped(spot(2, 관광지소개='"하나" 그리고 "둘"'))))
    assert len(report.records) == 2
    assert report.records[1].description["ko"] == '"하나" 그리고 "둘"'


def test_a_record_whose_fields_cannot_be_told_apart_is_left_out_with_the_reason() -> None:
    torn = unescaped(spot(2)).replace('"위도":"37.75"', '"위도":"37.75')
    stranger = unescaped(spot(3, 관광지소개='말 "인용", "모르는 항목":"값'))
    report = standard(document(written(spot(1)), torn, stranger, written(spot(4))))
    assert report.exit_code == PARTLY
    assert [record.names["ko"] for record in report.records] == ["은하마을1", "은하마을4"]
    assert [remark.number for remark in report.skipped] == [2, 3]
    assert all("not valid JSON" in remark.reason for remark in report.skipped)


def test_a_record_without_name_or_address_is_left_out_with_the_reason() -> None:
    nameless = {key: value for key, value in spot(2).items() if key != "관광지명"}
    homeless = {key: value for key, value in spot(3).items() if key != "소재지도로명주소"}
    report = standard(document(written(spot(1)), written(nameless), written(homeless)))
    assert report.exit_code == PARTLY
    assert [(remark.number, remark.reason.split(":")[0]) for remark in report.skipped] == [(2, "names"), (3, "city")]


def test_missing_keys_of_no_importance_are_no_reason() -> None:
    bare = {key: spot(1)[key] for key in ("관광지명", "소재지도로명주소")}
    report = standard(document(written(bare)))
    assert (report.exit_code, report.records[0].lat, report.records[0].kind) == (ALL, None, "sight")


def test_the_format_is_found_out_by_its_content() -> None:
    report = standard(document(written(spot(1))), format_name="auto")
    assert (report.format, report.encoding, len(report.records)) == ("kr-standard", "cp949", 1)


def test_objects_inside_of_an_object_do_not_count_as_records() -> None:
    whole = '{"name":"A","menu":[{"name":"x"},{"name":"y"}]}'
    pieces = list(objects_of(f'{whole},{{"name":"B","menu":[}},{whole}]'))
    assert [piece.fields["name"] if piece.fields else None for piece in pieces] == ["A", None, "A"]


texts = st.text(alphabet=st.sampled_from('가나 "\\,:{}[]ab1\n'), max_size=30)


@given(descriptions=st.lists(texts, min_size=1, max_size=4))
def test_careless_quotes_never_crash_and_never_lose_a_record_without_a_reason(descriptions: list[str]) -> None:
    records = [unescaped(spot(number, 관광지소개=text)) for number, text in enumerate(descriptions)]
    report = standard(document(*records))
    assert report.records or report.skipped


@given(descriptions=st.lists(st.text(alphabet=st.sampled_from('가나 "ab.'), max_size=30), min_size=1, max_size=4))
def test_quotes_alone_are_always_mended(descriptions: list[str]) -> None:
    records = [unescaped(spot(number, 관광지소개=text)) for number, text in enumerate(descriptions)]
    report = standard(document(*records))
    assert [record.names["ko"] for record in report.records] == [f"은하마을{number}" for number in range(len(records))]
