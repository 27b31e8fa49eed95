from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.arms.items import ItemScanner, Validity

SCHEMA = {
    "type": "object",
    "required": ["sources", "title"],
    "properties": {"sources": {"type": "array", "items": {"type": "string"}}, "title": {"type": "string"}},
}
ITEMS = [
    {"sources": ["r1"], "title": 'He said "{}" \\ and }'},
    {"sources": ["r2"], "title": "성산일출봉 🏝️", "more": {"deep": [{"er": "]"}]}},
    {"sources": [], "title": ""},
]
TEXT = orjson.dumps({"note": "{[", "items": ITEMS, "end": {"not": "an item of the list"}}).decode()


def scanned(text: str, cuts: list[int]) -> list[tuple[int, object]]:
    """Each item with the number of characters that had been fed when it came."""
    scanner, found, done = ItemScanner(), [], 0
    for cut in [*sorted(cuts), len(text)]:
        found += [(cut, item) for item in scanner.feed(text[done:cut])]
        done = cut
    return found


@given(st.lists(st.integers(0, len(TEXT)), max_size=12))
def test_items_come_whole_wherever_the_text_is_cut(cuts):
    assert [item for _, item in scanned(TEXT, cuts)][: len(ITEMS)] == ITEMS


def test_an_item_comes_with_its_last_character():
    first_end = TEXT.index("r2") - len('},{"sources":["') + 1
    arrivals = scanned(TEXT, list(range(len(TEXT))))
    assert arrivals[0] == (first_end, ITEMS[0])


def test_an_item_that_is_not_finished_does_not_come():
    assert scanned(TEXT[: TEXT.index("}") - 2], []) == []


@pytest.mark.parametrize(
    ("item", "valid"),
    [
        ({"sources": ["r1"], "title": "x"}, True),
        ({"sources": ["r9"], "title": "x"}, False),
        ({"sources": [], "title": "x"}, False),
        ({"sources": ["r1"]}, False),
        ({"sources": "r1", "title": "x"}, False),
    ],
)
def test_an_item_is_valid_by_the_schema_and_by_its_source(item, valid):
    assert Validity(SCHEMA, {"r1", "r2"}).accepts(item) is valid


def test_a_second_item_about_the_same_record_is_not_valid():
    validity = Validity(SCHEMA, {"r1", "r2"})
    assert [validity.accepts({"sources": [name], "title": "x"}) for name in ("r1", "r2", "r1")] == [True, True, False]
