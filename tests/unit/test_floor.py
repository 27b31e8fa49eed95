"""The floor: items from records alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway import floor
from headway.records import Draft, Record

TRAVEL = floor.load(Path(__file__).parents[2] / "domains" / "travel" / floor.PHRASES_FILE)
RECORDS = [
    Record(id=f"p{number}", name=f"Place {number}", description=f"What place {number} is.", address="Somewhere")
    for number in range(1, 6)
]


def write(records: list[Record], *, count: int = 3, language: str = "en", given: tuple[str, ...] = ()) -> list[Draft]:
    return floor.write(records, count=count, language=language, given=given, phrases=TRAVEL)


def test_items_are_about_the_best_records_that_were_not_written_about() -> None:
    assert [draft.sources for draft in write(RECORDS, given=("p1", "p3"))] == [("p2",), ("p4",), ("p5",)]


def test_an_item_says_what_its_record_says() -> None:
    (draft,) = write(RECORDS, count=1)
    assert (draft.title, draft.body) == ("Place 1", "What place 1 is.")


@pytest.mark.parametrize(
    ("language", "address", "body"),
    [
        ("ko", "서귀포시 성산읍", "서귀포시 성산읍에 있는 곳입니다."),
        ("ja", "東京都台東区", "東京都台東区にあります。"),
        ("en", "Asakusa, Taito", "It is in Asakusa, Taito."),
        ("de", "Mitte", "It is in Mitte."),
    ],
)
def test_a_record_with_an_address_and_nothing_else_is_told_by_it(language: str, address: str, body: str) -> None:
    (draft,) = write([Record(id="x", name="X", address=address)], language=language)
    assert draft.body == body


def test_a_record_of_which_nothing_is_known_but_its_name_has_no_body() -> None:
    (draft,) = write([Record(id="x", name="X")])
    assert draft.body == ""
    assert draft.reason


def test_a_record_without_a_name_makes_no_item_and_none_comes_twice() -> None:
    assert [draft.sources for draft in write([Record(id="x", name=" "), RECORDS[0], RECORDS[0]])] == [("p1",)]


def test_only_the_best_match_is_called_that_and_reasons_vary() -> None:
    reasons = [draft.reason for draft in write(RECORDS, count=5)]
    assert reasons[0] == "The closest match to your request."
    assert reasons[0] not in reasons[1:]
    assert len(set(reasons)) > 2
    assert reasons[0] not in [draft.reason for draft in write(RECORDS, given=("p1",))]


def test_markup_of_records_does_not_reach_items() -> None:
    (draft,) = write([Record(id="x", name="**X**\n", description="<b>Bold</b> [link](https://example.org)")])
    assert (draft.title, draft.body) == ("X", "Bold link")


def test_a_domain_without_phrases_gets_english_ones(tmp_path: Path) -> None:
    phrases = floor.load(tmp_path / "floor.toml")
    (draft,) = floor.write(RECORDS, count=1, language="ko", given=(), phrases=phrases)
    assert draft.reason


@pytest.mark.parametrize(
    "text",
    [
        "x = ",
        "[ko]\nwhere = 'x'",
        "[ko]\nwhere = '{city}'\nreasons = ['r']",
        "[ko]\nwhere = 'x'\nreasons = []",
        "ko = 1",
    ],
)
def test_phrases_that_cannot_be_used_are_refused_by_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "floor.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(floor.PhrasesError, match=r"floor\.toml"):
        floor.load(file)
