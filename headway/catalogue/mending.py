"""Damaged JSON: the objects of an array that can be read although the document cannot.

Public data is published with quotes inside of texts that nobody escaped. The document is cut where one object ends and the
next begins; a piece that is valid JSON is taken as it is, a piece that is not is cut at the names of the fields that the
document declares or that its readable pieces have. What cannot be told apart that way is reported, never guessed. The work
is linear in the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_BORDER = re.compile(r"\}\s*,\s*(?=\{)")
_MOST_JOINED = 8
_FOREIGN_FIELD = re.compile(r'",\s*"[^"]{1,40}"\s*:')


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One object: its ``fields``, or None and the ``fault``; ``note`` says what was mended."""

    fields: dict[str, Any] | None = None
    fault: str = ""
    note: str = ""


def objects_of(array: str, declared: Sequence[str] = ()) -> Iterator[Piece]:
    """The objects of ``array``, the text after its opening bracket, in order. ``declared`` are the known field names."""
    pieces = [_parsed(text) for text in _pieces(array)]
    names = list(dict.fromkeys([*declared, *(key for _, fields in pieces if fields for key in fields)]))
    field = _field_pattern(names)
    for text, fields in pieces:
        if fields is not None:
            yield Piece(fields=fields)
        elif field is None:
            yield Piece(fault="is not valid JSON, and no field names are known to mend it by")
        else:
            yield _mended(text, field)


def _pieces(array: str) -> Iterator[str]:
    body = array.strip()
    start = 0
    for border in _BORDER.finditer(body):
        yield body[start : border.start() + 1]
        start = border.end()
    rest = body[start:].strip()
    # What closes the array and the document around it belongs to no object.
    rest = re.sub(r"[\]}\s,]*\Z", "", rest) if start or "{" in rest else ""
    if rest:
        yield rest + "}"


def _parsed(text: str) -> tuple[str, dict[str, Any] | None]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Nested objects at the end lose their own brackets to the trimming of the last piece.
        for closing in range(1, _MOST_JOINED):
            if not text.endswith("}"):
                break
            try:
                value = orjson.loads(text + "}" * closing)
                break
            except orjson.JSONDecodeError:
                continue
        else:
            return text, None
        if not isinstance(value, dict):
            return text, None
    return text, value if isinstance(value, dict) else None


def _field_pattern(names: Iterable[str]) -> re.Pattern[str] | None:
    listed = sorted((re.escape(name) for name in names if name), key=len, reverse=True)
    return re.compile(rf'(?:\A\s*\{{|,)\s*"({"|".join(listed)})"\s*:\s*') if listed else None


def _mended(text: str, field: re.Pattern[str]) -> Piece:
    """Cuts a piece at its field names: a value reaches from one name to the next, whatever quotes it holds."""
    body = text.strip().removesuffix("}")
    marks = list(field.finditer(body))
    if not marks or marks[0].start() != 0:
        return Piece(fault="is not valid JSON, and does not begin with a known field")
    fields: dict[str, Any] = {}
    mended = []
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        name, raw = mark[1], body[mark.end() : following.start() if following else len(body)].strip()
        if name in fields:
            return Piece(fault=f"is not valid JSON, and has the field {name} twice")
        try:
            fields[name] = orjson.loads(raw)
        except orjson.JSONDecodeError:
            if len(raw) < 2 or raw[0] != '"' or raw[-1] != '"':
                return Piece(fault=f"is not valid JSON: the value of {name} has no end")
            if _FOREIGN_FIELD.search(raw):
                return Piece(fault=f"is not valid JSON: where the value of {name} ends cannot be told")
            fields[name] = _unescaped(raw[1:-1])
            mended.append(name)
    return Piece(fields=fields, note="quotes that were not escaped in " + ", ".join(mended))


def _unescaped(text: str) -> str:
    simple = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\(.)", lambda found: simple.get(found[1], found[1]), text, flags=re.DOTALL)
    # A text that was quoted once more as a whole means the text.
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1] else text
