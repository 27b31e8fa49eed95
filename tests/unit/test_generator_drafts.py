"""What a model wrote is taken, cleaned or dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.plain_text import plain
from headway.records import Record
from services.generator.drafts import BODY_CHARS, Drop, Intake
from services.generator.schema_check import compiled

SCHEMA = json.loads((Path(__file__).parents[2] / "domains/travel/item.schema.json").read_text(encoding="utf-8"))
RECORDS = {f"r{n}": Record(id=f"place-{n}", name=f"Place {n}") for n in (1, 2, 3)}
GOOD: dict[str, Any] = {"sources": ["r1"], "title": "T", "body": "B.", "reason": "R."}


def intake(*given_ids: str, schema: dict[str, Any] = SCHEMA) -> Intake:
    return Intake(check=compiled(schema), aliases=RECORDS, given=given_ids)


def test_a_good_item_is_taken_with_the_ids_of_its_records() -> None:
    draft = intake().accept({**GOOD, "sources": ["r2", "r1"]})
    assert draft is not None
    assert (draft.title, draft.body, draft.reason, draft.sources) == ("T", "B.", "R.", ("place-2", "place-1"))


def test_a_record_may_be_named_by_its_own_id() -> None:
    draft = intake().accept({**GOOD, "sources": ["place-3"]})
    assert draft is not None
    assert draft.sources == ("place-3",)


def test_sources_that_were_not_given_are_passed_over_and_repeated_ones_count_once() -> None:
    draft = intake().accept({**GOOD, "sources": ["r9", "r1", "r1", "https://made.up"]})
    assert draft is not None
    assert draft.sources == ("place-1",)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({**GOOD, "sources": []}, Drop.SOURCES),
        ({**GOOD, "sources": ["r9"]}, Drop.SOURCES),
        ({key: value for key, value in GOOD.items() if key != "body"}, Drop.SCHEMA),
        ({**GOOD, "stars": 5}, Drop.SCHEMA),
        ({**GOOD, "title": 7}, Drop.SCHEMA),
        ({**GOOD, "sources": "r1"}, Drop.SCHEMA),
        ({**GOOD, "sources": [1]}, Drop.SCHEMA),
        ({**GOOD, "body": " ", "reason": ""}, Drop.EMPTY),
    ],
)
def test_what_cannot_be_used_is_dropped_and_counted(raw: dict[str, Any], why: Drop) -> None:
    taking = intake()
    assert taking.accept(raw) is None
    assert taking.dropped == {why: 1}
    assert taking.given == frozenset()


def test_no_record_is_written_about_twice() -> None:
    taking = intake("place-2")
    assert taking.accept(GOOD) is not None
    assert taking.accept(GOOD) is None
    assert taking.accept({**GOOD, "sources": ["r2"]}) is None
    assert taking.dropped == {Drop.REPEATED: 2}


def test_a_record_may_support_an_item_after_it_had_one_of_its_own() -> None:
    taking = intake()
    assert taking.accept(GOOD) is not None
    draft = taking.accept({**GOOD, "sources": ["r2", "r1"]})
    assert draft is not None
    assert draft.sources == ("place-2", "place-1")


def test_an_item_without_a_title_gets_the_name_of_its_record() -> None:
    draft = intake().accept({**GOOD, "title": "  "})
    assert draft is not None
    assert draft.title == "Place 1"


def test_further_fields_of_the_schema_are_kept() -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "stay": {"type": "integer"}}}
    draft = intake(schema=schema).accept({**GOOD, "stay": 2})
    assert draft is not None
    assert draft.extra == {"stay": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  plain  ", "plain"),
        ("two\nlines\tand  spaces", "two lines and spaces"),
        ("**bold** and __bold__", "bold and bold"),
        ("## Heading", "Heading"),
        ("see [the site](https://example.org/a_b) now", "see the site now"),
        ("<b>tags</b> go, a < b stays", "tags go, a < b stays"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("with `ticks` inside", "with `ticks` inside"),
        ("zero\u200bwidth\u202e turned", "zerowidth turned"),
        ("joined \ud83d\ude00", "joined 😀"),
        ("half \ud83d only", "half \ufffd only"),
        ("null\x00byte", "null byte"),
        ("[brackets] stay", "[brackets] stay"),
    ],
)
def test_text_becomes_plain(text: str, expected: str) -> None:
    assert plain(text, 200) == expected


def test_long_text_is_cut_after_a_sentence() -> None:
    assert (
        plain("첫 문장입니다. 둘째 문장입니다. 셋째 문장은 길어서 들어가지 않습니다.", 20)
        == "첫 문장입니다. 둘째 문장입니다."
    )


def test_long_text_without_sentences_ends_with_an_ellipsis() -> None:
    assert plain("word " * 40, 23) == "word word word word…"


@given(st.text(max_size=900), st.integers(10, BODY_CHARS))
def test_plain_text_is_one_line_that_can_be_sent(text: str, limit: int) -> None:
    cleaned = plain(text, limit)
    assert len(cleaned) <= limit
    assert "\n" not in cleaned
    cleaned.encode()


SCHEMAS: list[dict[str, Any]] = [
    SCHEMA,
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 5}}, "required": ["n"]},
    {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"enum": ["x"], "type": "string"}, "minItems": 1}},
    },
    {
        "type": "array",
        "items": {"type": "object", "properties": {"b": {"type": "boolean"}}, "additionalProperties": False},
    },
    {
        "type": "object",
        "properties": {"s": {"type": "string", "minLength": 1, "maxLength": 2}, "f": {"type": "number"}},
    },
    {"type": "object", "properties": {"s": {"type": "string", "pattern": "^a"}}},  # not checked by hand
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
]
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-1, 6)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "x", "ab", "abc"])
)
names = st.sampled_from(["n", "a", "b", "s", "f", *SCHEMA["properties"]])
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5))


@given(
    schema=st.sampled_from(SCHEMAS),
    value=values | st.fixed_dictionaries(GOOD and {k: st.just(v) | values for k, v in GOOD.items()}),
)
def test_the_check_by_hand_agrees_with_the_library(schema: dict[str, Any], value: Any) -> None:
    library = jsonschema.Draft202012Validator(schema)
    # JSON has one kind of number; a model's 1.0 for an integer is not worth the difference.
    if library.is_valid(value) != (compiled(schema)(value) == ""):
        assert "1.0" in repr(value) or any(isinstance(each, float) and each.is_integer() for each in _leaves(value))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    return [leaf for each in value for leaf in _leaves(each)] if isinstance(value, list) else [value]
