from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.domain import DomainError
from services.router.landmarks import landmarks
from tests.unit.router_parts import said


@pytest.mark.parametrize(
    ("query", "city"),
    [
        ("성산일출봉 근처 맛집", "jeju"),
        ("things to do near Eiffel Tower", "paris"),
        ("남산타워 근처 저녁 먹을 곳", "seoul"),
        ("hotels near the British Museum", "london"),
        ("錦市場で食べ歩き", "kyoto"),
    ],
)
def test_a_sight_of_the_catalogue_says_which_city(query: str, city: str) -> None:
    assert said(query, "destination") == [city]


def written(tmp_path: Path, *rows: object) -> Path:
    (tmp_path / "catalogue").mkdir()
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "catalogue" / "a.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def test_names_that_are_short_or_borne_in_two_cities_say_nothing(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        {"names": {"ko": "달빛항구", "en": "Moonlight Harbour (East)"}, "city": "jeju"},
        {"names": {"ko": "중앙시장", "en": "Market"}, "city": "jeju"},
        {"names": {"ko": "중앙시장", "en": "Harbourside"}, "city": "busan"},
    )
    assert dict(landmarks(root)) == {"달빛항구": "jeju", "moonlight harbour": "jeju"}


def test_a_domain_without_a_catalogue_has_none_and_a_broken_file_is_named(tmp_path: Path) -> None:
    assert list(landmarks(tmp_path)) == []
    with pytest.raises(DomainError, match=r"a\.jsonl"):
        list(landmarks(written(tmp_path, ["no", "record"])))
