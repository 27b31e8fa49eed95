"""The travel catalogue that ships: complete, valid, and as large as it is said to be."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headway.catalogue.record import Record, record_from
from headway.domain import load

ENOUGH = 350
JEJU = {"sight": 60, "lodging": 25, "food": 35}
CITIES = (
    "seoul", "busan", "gangneung", "gyeongju", "osaka", "kyoto", "tokyo", "fukuoka", "london", "paris", "new-york",
)  # fmt: skip


@pytest.fixture(scope="module")
def lines(root: Path) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in sorted((root / "domains" / "travel" / "catalogue").glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                found.append((f"{path.name}:{number}", json.loads(line)))
    return found


@pytest.fixture(scope="module")
def records(lines: list[tuple[str, dict[str, Any]]]) -> list[Record]:
    return [record_from(data) for _, data in lines]


def test_every_line_is_a_valid_record(lines: list[tuple[str, dict[str, Any]]]) -> None:
    faults = []
    for where, data in lines:
        try:
            record_from(data)
        except ValueError as fault:
            faults.append(f"{where}: {fault}")
    assert faults == []


def test_no_id_occurs_twice(records: list[Record]) -> None:
    assert [each for each, count in Counter(record.id for record in records).items() if count > 1] == []


def test_there_are_enough_places_in_every_city(records: list[Record]) -> None:
    assert len(records) >= ENOUGH
    jeju = Counter(record.kind for record in records if record.city == "jeju")
    assert all(jeju[kind] >= least for kind, least in JEJU.items()), jeju
    for city in CITIES:
        kinds = {record.kind for record in records if record.city == city}
        assert {"sight", "lodging", "food"} <= kinds, city


def test_every_place_has_what_its_readers_need(records: list[Record]) -> None:
    for record in records:
        assert {"ko", "en"} <= set(record.names), record.id
        assert {"ko", "en"} <= set(record.description), record.id
        assert record.area, record.id
        assert record.lat is not None, record.id
        assert record.country, record.id
        assert record.source == "curated", record.id
        assert record.as_of, record.id


def test_kinds_belong_to_sections_and_tags_have_labels(root: Path, records: list[Record]) -> None:
    travel = load(root / "domains" / "travel")
    assert {record.kind for record in records if not travel.section_of_kind(record.kind)} == set()
    assert {tag for record in records for tag in record.tags} - set(travel.tags) == set()


def test_places_of_a_city_lie_near_each_other(records: list[Record]) -> None:
    for city in ("jeju", *CITIES):
        points = [(record.lat, record.lon) for record in records if record.city == city]
        latitudes = sorted(lat for lat, _ in points if lat is not None)
        longitudes = sorted(lon for _, lon in points if lon is not None)
        middle = latitudes[len(latitudes) // 2], longitudes[len(longitudes) // 2]
        far = [
            record.id
            for record in records
            if record.city == city
            and record.lat is not None
            and record.lon is not None
            and (abs(record.lat - middle[0]) > 0.8 or abs(record.lon - middle[1]) > 1.0)
        ]
        assert far == [], city
