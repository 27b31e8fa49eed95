"""Items that are broken as JSON are read where it is certain what was meant, and only there."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from services.generator.item_stream import ItemStream
from services.generator.repair import LONGEST_CHARS, Repair, repair_of
from services.generator.schema_check import compiled

SCHEMA = json.loads((Path(__file__).parents[2] / "domains/travel/item.schema.json").read_text(encoding="utf-8"))
FIELDS = tuple(SCHEMA["properties"])
CHECK = compiled(SCHEMA)
MEANT: dict[str, Any] = {
    "sources": ["r1", "r2"],
    "title": "천지연폭포",
    "body": "밤에도 열린 폭포, 산책로",
    "reason": "아이와 좋다",
}
GOOD: dict[str, Any] = {"sources": ["r3"], "title": "Good", "body": "Fine.", "reason": "Near."}

RECOVERED: dict[str, str] = {
    "quotes of the other kind": str(MEANT),
    "names without quotes": (
        '{sources: ["r1","r2"], title: "천지연폭포", body: "밤에도 열린 폭포, 산책로", reason: "아이와 좋다"}'
    ),
    "commas that are missing": (
        '{"sources":["r1" "r2"] "title":"천지연폭포" "body":"밤에도 열린 폭포, 산책로"\n"reason":"아이와 좋다"}'
    ),
    "comments": (
        '{"sources":["r1","r2"], // both\n"title":"천지연폭포", /* the name */ '
        '"body":"밤에도 열린 폭포, 산책로", # why\n"reason":"아이와 좋다"}'
    ),
    "a quote that is missing": (
        '{"sources":["r1","r2"],"title":"천지연폭포,"body":"밤에도 열린 폭포, 산책로","reason":"아이와 좋다"}'
    ),
    "a bracket that is missing": (
        '{"sources":["r1","r2","title":"천지연폭포","body":"밤에도 열린 폭포, 산책로","reason":"아이와 좋다"}'
    ),
    "elements without quotes": (
        '{"sources":[r1, r2],"title":"천지연폭포","body":"밤에도 열린 폭포, 산책로","reason":"아이와 좋다"}'
    ),
}
UNCERTAIN: dict[str, str] = {
    "a name that comes twice": '{"sources":["r1"],"title":"a","body":"b "reason":"c","reason":"d"}',
    "a name that is not there": "{'sources':['r1'],'title':'a','body':'b'}",
    "a name that is not a field": "{'sources':['r1'],'title':'a','stars':'5','body':'b','reason':'c'}",
    "a quote without its pair": '{"sources":["r1"],"title":"a","body":"15" wide","reason":"c"}',
    "a value that is missing": '{"sources":["r1"],"title":,"body":"b","reason":"c"}',
    "two values": '{"sources":["r1"],"title":"a", "aa","body":"b","reason":"c"}',
    "text that is nobody's": '{"sources":["r1"],NOTE "title":"a","body":"b","reason":"c"}',
    "the end cut off": '{"sources":["r1"],"title":"a","body":"b","reason":"c}',
    "a comma in a value without quotes": '{"sources":["r1"],"title":a, b,"body":"b","reason":"c"}',
    "nothing": "{}",
}


@pytest.fixture(scope="module")
def repair() -> Repair:
    return repair_of(SCHEMA)


def read(text: str, repair: Repair | None, *, pieces: int = 0) -> tuple[list[Any], int, int, int]:
    stream = ItemStream(fields=FIELDS, repair=repair)
    step = pieces or len(text) or 1
    items = [item for start in range(0, len(text), step) for item in stream.feed(text[start : start + step])]
    items += stream.close()
    return items, stream.repaired, stream.malformed, stream.truncated


@pytest.mark.parametrize("name", RECOVERED)
def test_what_was_meant_is_certain(repair: Repair, name: str) -> None:
    assert repair(RECOVERED[name]) == MEANT


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_is_not_certain_is_given_up(repair: Repair, name: str) -> None:
    assert repair(UNCERTAIN[name]) is None


def test_quotes_within_a_text_come_in_pairs(repair: Repair) -> None:
    text = '{"sources":["r1"],"title":"the "old" port","body":"say "one, two" there","reason":"a (see "b")"}'
    item = {"sources": ["r1"], "title": 'the "old" port', "body": 'say "one, two" there', "reason": 'a (see "b")'}
    assert repair(text) == item


def test_words_of_python_and_numbers_are_read(repair: Repair) -> None:
    schema = {
        "type": "object",
        "properties": {"open": {"type": "boolean"}, "price": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["open", "price"],
    }
    assert repair_of(schema)("{'open': True, 'price': 3, 'note': 'None of it'}") == {
        "open": True,
        "price": 3,
        "note": "None of it",
    }
    assert repair_of(schema)('{"open": None, "price": 3}') == {"open": None, "price": 3}


@pytest.mark.parametrize(
    "shape", ["{0}\n{1}\n{0}", "[{0},{1},{0}]", '{{"items":[{0},{1},{0}]}}', "{0} {1}, {0}", "```\n{0}\n{1}\n{0}\n```"]
)
@pytest.mark.parametrize("name", RECOVERED)
@pytest.mark.parametrize("pieces", [0, 1, 7])
def test_a_broken_item_takes_its_place_among_the_others(repair: Repair, name: str, shape: str, pieces: int) -> None:
    text = shape.format(json.dumps(GOOD), RECOVERED[name])
    assert read(text, repair, pieces=pieces) == ([GOOD, MEANT, GOOD], 1, 0, 0)


def test_an_answer_in_the_words_of_python_is_read_whole(repair: Repair) -> None:
    assert read(str({"items": [MEANT, GOOD]}), repair) == ([MEANT, GOOD], 2, 0, 0)


def test_braces_in_a_broken_text_do_not_end_it(repair: Repair) -> None:
    text = (
        '[{"sources":["r1"],"title":"the "best" one","body":"{x}, {y} :-}, ok","reason":"z"},' + json.dumps(GOOD) + "]"
    )
    meant = {"sources": ["r1"], "title": 'the "best" one', "body": "{x}, {y} :-}, ok", "reason": "z"}
    assert read(text, repair) == ([meant, GOOD], 1, 0, 0)


@pytest.mark.parametrize("name", UNCERTAIN)
def test_an_item_given_up_costs_no_other(repair: Repair, name: str) -> None:
    good = json.dumps(GOOD)
    items, repaired, _, _ = read(f"{good}\n{UNCERTAIN[name]}\n{good}\n{good}", repair)
    assert [item for item in items if set(item) == set(GOOD)][-2:] == [GOOD, GOOD]
    assert repaired == 0


def test_a_repaired_item_is_there_with_the_next_character(repair: Repair) -> None:
    stream = ItemStream(fields=FIELDS, repair=repair)
    assert stream.feed(f"[{MEANT}") == []
    assert stream.feed(",") == [MEANT]


def test_the_last_item_is_there_with_the_end_of_the_text(repair: Repair) -> None:
    stream = ItemStream(fields=FIELDS, repair=repair)
    assert stream.feed(str(MEANT)) == []
    assert stream.close() == [MEANT]
    assert stream.close() == []


# Texts in which everything occurs that could be taken for structure.
SAID = ["a", "길", " ", ", ", ". ", "'", '"', '"b" ', "'c' ", ":", "{", "}", "},", "[", "]", "\n", "r1", "//", "#"]
SAID += ["title", "reason: ", '"body": ', "null", "True"]
WORDS = st.lists(st.sampled_from(SAID), max_size=8).map("".join)
ITEMS = st.fixed_dictionaries(
    {"sources": st.lists(st.sampled_from(["r1", "r2", "jeju-1"]), min_size=1, max_size=2)}
    | dict.fromkeys(("title", "body", "reason"), WORDS)
)


WAYS = ["raw quotes", "single quotes", "no end quote", "no quotes", "python", "comment", "bare names", "no commas"]


def written(item: dict[str, Any], how: str) -> dict[str, Any]:
    """The item as far as it can be told apart: a text that holds the very end of an item ends it, and where texts
    stand without quotes, quotes around them are none of theirs."""
    end = "}" if how == "no quotes" else r"[\"'],?\s*}"
    assume(not any(re.search(end, item[name]) for name in ("title", "body", "reason")))
    if how != "no quotes":
        return item
    return {name: text if name == "sources" else text.replace('"', "").replace("'", "") for name, text in item.items()}


def broken(item: dict[str, Any], how: str, at: int) -> str:
    """The item as a model might write it that breaks one rule."""
    names = list(FIELDS)
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in item.items()}
    chosen = names[1 + at % 3]
    if how == "raw quotes":
        texts[chosen] = f'"{item[chosen]}"'
    elif how == "single quotes":
        texts |= {name: f"'{item[name]}'" for name in names[1:]}
    elif how == "no end quote":
        texts[chosen] = texts[chosen][:-1]
    elif how == "no quotes":
        texts[chosen] = item[chosen]
    elif how == "python":
        return str(item)
    elif how == "comment":
        texts[chosen] += " // a note\n"
    quote = {"bare names": "", "single quotes": "'"}.get(how, '"')
    comma = " " if how == "no commas" else ", "
    return "{" + comma.join(f"{quote}{name}{quote}: {texts[name]}" for name in names) + "}"


@given(
    item=ITEMS,
    how=st.sampled_from(WAYS),
    at=st.integers(0, 2),
)
@example(item={"sources": ["r1"], "title": "a", "body": "", "reason": '"b" }'}, how="raw quotes", at=2)
def test_nothing_is_taken_that_was_not_meant(item: dict[str, Any], how: str, at: int) -> None:
    item = written(item, how)
    text = broken(item, how, at)
    found = repair_of(SCHEMA)(text)
    if found is not None and CHECK(found) == "":
        assert {name: _words(value) for name, value in found.items()} == {
            name: _words(value) for name, value in item.items()
        }


@given(item=ITEMS, how=st.sampled_from(WAYS), at=st.integers(0, 2), shape=st.sampled_from(["[{},{},{}]", "{}\n{}\n{}"]))
def test_nothing_is_taken_out_of_an_answer_that_was_not_meant(
    item: dict[str, Any], how: str, at: int, shape: str
) -> None:
    item = written(item, how)
    good = json.dumps(GOOD)
    items = read(shape.format(good, broken(item, how, at), good), repair_of(SCHEMA))[0]
    meant = [{name: _words(value) for name, value in each.items()} for each in (item, GOOD)]
    assert all({name: _words(value) for name, value in each.items()} in meant for each in items if not CHECK(each))


def _words(value: Any) -> Any:
    """What a text says, whatever the spaces and line breaks."""
    return " ".join(value.split()) if isinstance(value, str) else value


@given(
    text=st.lists(WORDS | st.just("\\"), max_size=12).map(lambda words: "{" + '"title":"'.join(words) + "}"),
    data=st.data(),
)
def test_how_broken_text_is_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    repair = repair_of({"properties": {"title": {"type": "string"}}, "required": ["title"]})
    whole = read(text, repair)
    borders = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    stream = ItemStream(fields=FIELDS, repair=repair)
    items: list[Any] = []
    for start, end in zip([0, *borders], [*borders, len(text)], strict=True):
        items += stream.feed(text[start:end])
    items += stream.close()
    assert (items, stream.repaired, stream.malformed, stream.truncated) == whole


@pytest.mark.parametrize(
    "piece", ["{", "}", '"', "'", "title:", '"title":', "\\", "[", "//", "/*", " ", ",", "a", '"a" ', "['a',"]
)
def test_the_worst_text_is_given_up_in_no_time(repair: Repair, piece: str) -> None:
    text = '{"sources":["r1"],"title":' + piece * (3900 // len(piece)) + ',"body":"b","reason":"c"}'
    started = time.perf_counter()
    repair(text[:LONGEST_CHARS])
    assert time.perf_counter() - started < 0.25


def test_a_text_too_long_is_not_looked_at(repair: Repair) -> None:
    assert repair(str(MEANT | {"body": "x" * LONGEST_CHARS})) is None
