"""Items are cut out of a model's text as soon as they are complete, however the text is cut and whatever is wrong
with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.generator.item_stream import ItemStream

FIELDS = ("sources", "title", "body", "reason")
A: dict[str, Any] = {
    "sources": ["r1"],
    "title": "성산일출봉 😀",
    "body": 'a "quoted" \\ {brace} ```tick```',
    "reason": "[x], {y}",
}
B: dict[str, Any] = {"sources": ["r2", "r3"], "title": "B", "body": "line\nbreak", "reason": ""}
C: dict[str, Any] = {"sources": [], "title": "C", "body": "né", "reason": "z"}


def dumped(item: dict[str, Any], *, ascii_only: bool = False, indent: int | None = None) -> str:
    return json.dumps(item, ensure_ascii=ascii_only, indent=indent)


def cut(text: str, *, fields: tuple[str, ...] = FIELDS) -> ItemStream:
    stream = ItemStream(fields=fields)
    stream.feed(text)
    stream.close()
    return stream


def items_of(
    text: str, *, fields: tuple[str, ...] = FIELDS, max_item_chars: int = 16_384
) -> tuple[list[Any], int, int]:
    stream = ItemStream(fields=fields, max_item_chars=max_item_chars)
    items = stream.feed(text)
    stream.close()
    return items, stream.malformed, stream.truncated


GOOD = {
    "jsonl": "\n".join(map(dumped, (A, B, C))),
    "jsonl escaped": "\n".join(dumped(each, ascii_only=True) for each in (A, B, C)),
    "array": dumped([A, B, C]),  # type: ignore[arg-type]  # any JSON will do
    "array over several lines": dumped([A, B, C], indent=2),  # type: ignore[arg-type]
    "wrapper": dumped({"items": [A, B, C]}),
    "wrapper over several lines": dumped({"items": [A, B, C]}, indent=2),
    "wrapper of another name": dumped({"recommendations": [A, B, C]}),
    "wrapper with more in it": dumped({"note": "here {you} go", "tags": ["a"], "items": [A, B, C], "done": True}),
    "nothing between": "".join(map(dumped, (A, B, C))),
    "commas between lines": ",\n".join(map(dumped, (A, B, C))),
    "a trailing comma": f"[{dumped(A)}, {dumped(B)}, {dumped(C)},]",
    "a code fence": f"```json\n{dumped([A, B, C])}\n```\n",  # type: ignore[arg-type]
    "a fence for each": "\n".join(f"```\n{dumped(each)}\n```" for each in (A, B, C)),
    "prose around": f"Sure! Here {{are}} some [ideas]:\n\n{dumped([A, B, C])}\n\nEnjoy your {{trip}}!",  # type: ignore[arg-type]
    "a list with bullets": "".join(f"- {dumped(each)}\n" for each in (A, B, C)),
    "a mark at the start": "\ufeff" + "\n".join(map(dumped, (A, B, C))),
    "carriage returns": "\r\n".join(map(dumped, (A, B, C))),
}


@pytest.mark.parametrize("name", GOOD)
def test_items_are_found_in_every_shape_that_models_write(name: str) -> None:
    assert items_of(GOOD[name]) == ([A, B, C], 0, 0)


def test_an_item_is_given_out_with_its_last_brace_and_not_later() -> None:
    stream = ItemStream(fields=FIELDS)
    text = dumped({"items": [A, B]})
    end_of_a = text.index(dumped(A)) + len(dumped(A))
    assert stream.feed(text[: end_of_a - 1]) == []
    assert stream.feed("}") == [A]
    assert stream.feed(text[end_of_a:]) == [B]


BROKEN = {
    "a quote in a value that is not escaped": (
        f'{dumped(A)},{{"title":"the "best" one","body":"{{x}}, {{y}}"}},{dumped(C)}',
        [A, C],
        1,
        0,
    ),
    "a string that never ends": (f'{dumped(A)}\n{{"title":"open\n{dumped(C)}', [A, C], 1, 0),
    "a brace that is missing": (f'{dumped(A)}\n{{"title":"open"\n{dumped(C)}', [A, C], 1, 0),
    "a bracket that is missing": (f'{dumped(A)}\n{{"sources":["r1","title":"t"}}\n{dumped(C)}', [A, C], 1, 0),
    "a value that is missing": (f'[{dumped(A)},{{"title":}},{dumped(C)}]', [A, C], 1, 0),
    "a wrong closing bracket": (f'[{dumped(A)},{{"title":"x"],{dumped(C)}]', [A, C], 1, 0),
    "a word for a value": (f'[{dumped(A)},{{"title":undefined}},{dumped(C)}]', [A, C], 1, 0),
    "a word that JSON has not": (f'[{dumped(A)},{{"title":nil,"body":"x"}},{dumped(C)}]', [A, C], 1, 0),
    "a comment": (f'[{dumped(A)},{{"title":"x", // why\n"body":"y"}},{dumped(C)}]', [A, C], 1, 0),
    "two broken ones": (f'{dumped(A)}\n{{"title":"x\n{{"title":"y\n{dumped(C)}', [A, C], 2, 0),
    "the end within an item": (f"{dumped({'items': [A, B]})[:-40]}", [A], 0, 1),
    "the end within a string": (f'{dumped(A)}\n{{"title":"hal', [A], 0, 1),
    "the end within an escape": (f'{dumped(A)}\n{{"title":"hal\\u26', [A], 0, 1),
    "a fence after the cut": (f'[{dumped(A)},\n{{"title":"x","body":"cut off\n```\nDone.', [A], 0, 1),
    "nothing but prose": ("I cannot help with that. {Sorry}.", [], 0, 0),
    "nothing": ("", [], 0, 0),
    "an empty wrapper": ('{"items":[]}', [], 0, 0),
    "an empty object": ("{}", [], 0, 0),
    "nesting without end": (f'{{"a":{"[" * 50}\n{dumped(A)}', [A], 1, 0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_dropped_and_counted_and_the_next_item_is_found(name: str) -> None:
    text, items, malformed, truncated = BROKEN[name]
    assert items_of(text) == (items, malformed, truncated)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ('{"title":"a","sources":["r1",],}', {"title": "a", "sources": ["r1"]}),
        ('{"title":"two\nlines"}', {"title": "two\nlines"}),
        (r'{"title":"it\'s, }"}', {"title": "it's, }"}),
        ('{"title":",]"}', {"title": ",]"}),
    ],
)
def test_small_slips_are_mended(text: str, item: dict[str, Any]) -> None:
    assert items_of(text) == ([item], 0, 0)


def test_an_item_that_grows_too_long_is_dropped_and_the_next_is_found() -> None:
    long = dumped({**A, "body": "x" * 3000})
    assert items_of(f"[{long},{dumped(B)}]", max_item_chars=1000) == ([B], 1, 0)


def test_a_name_of_the_schema_is_never_taken_for_the_wrapper() -> None:
    item = {"title": "t", "items": [{"title": "inner"}]}
    assert items_of(dumped(item), fields=("title", "items"))[0] == [item]


ALL_TEXTS = [*GOOD.values(), *(text for text, *_ in BROKEN.values())]
HARD = st.text(alphabet='{}[]",:\\ \nabu0-`', max_size=60) | st.sampled_from(
    ['{"items":[', '{"title":"', '"},', dumped(A), "\\u00e9", "x" * 50]
)


@given(text=st.sampled_from(ALL_TEXTS) | st.lists(HARD, max_size=8).map("".join), data=st.data())
def test_how_the_text_is_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    whole = items_of(text, max_item_chars=200)
    borders = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=30)))
    stream = ItemStream(fields=FIELDS, max_item_chars=200)
    items: list[Any] = []
    for start, end in zip([0, *borders], [*borders, len(text)], strict=True):
        items += stream.feed(text[start:end])
    stream.close()
    assert (items, stream.malformed, stream.truncated) == whole


@pytest.mark.parametrize("text", ALL_TEXTS)
def test_text_fed_character_by_character_gives_the_same(text: str) -> None:
    stream = ItemStream(fields=FIELDS)
    items = [item for char in text for item in stream.feed(char)]
    stream.close()
    assert (items, stream.malformed, stream.truncated) == items_of(text)


@pytest.mark.parametrize("text", ALL_TEXTS)
def test_bytes_may_be_cut_within_a_character(text: str) -> None:
    stream = ItemStream(fields=FIELDS)
    items = [item for byte in text.encode() for item in stream.feed_bytes(bytes([byte]))]
    stream.close()
    assert (items, stream.malformed, stream.truncated) == items_of(text)


@given(text=st.lists(HARD, max_size=60).map("".join))
def test_the_work_is_linear_in_the_text_whatever_it_holds(text: str) -> None:
    assert cut(text).examined_chars <= 4 * len(text) + 4


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        '{"a":',
        '{"a":"',
        '{"a":"x\n{"',
        ',{"',
        "{,",
        '{"a":[',
        "{{",
        "\n",
        '{"a" b',
        '"',
        '{"a":"{,{,{,"x',
        dumped(A),
    ],
)
def test_the_work_is_linear_when_one_thing_repeats_without_end(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    stream = ItemStream(fields=FIELDS, max_item_chars=2_000)
    for start in range(0, len(text), 7):
        stream.feed(text[start : start + 7])
    assert stream.examined_chars <= 4 * len(text) + 4


@given(
    items=st.lists(st.fixed_dictionaries({name: st.text(max_size=40) for name in FIELDS}), max_size=5), data=st.data()
)
def test_whatever_the_items_hold_they_come_out_as_they_went_in(
    items: list[dict[str, str]], data: st.DataObject
) -> None:
    ascii_only = data.draw(st.booleans())
    shape = data.draw(st.sampled_from(["jsonl", "array", "wrapper"]))
    texts = [dumped(item, ascii_only=ascii_only) for item in items]
    text = {"jsonl": "\n".join(texts), "array": f"[{','.join(texts)}]", "wrapper": f'{{"items":[{", ".join(texts)}]}}'}[
        shape
    ]
    assert items_of(text) == (items, 0, 0)
