"""Damaged JSON: the objects of an array that can be read although the document cannot.

Public data is published with quotes inside of texts that nobody escaped. The document is cut where one object ends
and the next begins; a piece that is valid JSON is taken as it is, a piece that is not is cut at the names of the
fields that the document declares or that its readable pieces have. What cannot be told apart that way is reported,
never guessed. The work is linear in the input.
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
    """The objects of ``array``, the text after its opening bracket, in order. ``declared`` are known field names."""
    pieces = list(_joined(_cut(array)))
    names = list(dict.fromkeys([*declared, *(key for piece in pieces for key in piece.fields or ())]))
    field = _field_pattern(names)
    for piece in pieces:
        if piece.fields is not None:
            yield Piece(fields=piece.fields)
        elif field is None:
            yield Piece(fault="is not valid JSON, and no field names are known to mend it by")
        else:
            yield _mended(piece.text, field)


class _Text:
    """A piece of the document and, when it is valid JSON, its fields."""

    __slots__ = ("fields", "text")

    def __init__(self, text: str, *, last: bool = False) -> None:
        """What closes the array and the document around it stands at the end of the ``last`` piece and is cut off."""
        self.fields = None
        candidates = _without_closers(text) if last else [text]
        for candidate in candidates:
            self.fields = _object(candidate)
            if self.fields is not None:
                break
        self.text = candidates[0]


def _cut(array: str) -> list[str]:
    """The text of each object, and after the last one whatever closes the document."""
    pieces = []
    start = 0
    for border in _BORDER.finditer(array):
        pieces.append(array[start : border.start() + 1].strip())
        start = border.end()
    rest = array[start:].strip()
    return [*pieces, rest] if rest.startswith("{") else pieces


def _without_closers(text: str) -> list[str]:
    """The text up to each of the braces at its end, shortest first: an object inside of the last one brings its own."""
    closers = re.search(r"[\]}\s,]*\Z", text)
    start = closers.start() if closers else len(text)
    ends = [start + offset + 1 for offset, each in enumerate(text[start:]) if each == "}"]
    return [text[:end] for end in ends[:_MOST_JOINED]] or [text]


def _joined(pieces: Sequence[str]) -> Iterator[_Text]:
    """Puts pieces together again that were cut between objects inside of one object."""
    position, total = 0, len(pieces)
    while position < total:
        piece, taken = _Text(pieces[position], last=position == total - 1), 1
        for more in range(2, min(_MOST_JOINED, total - position) + 1):
            if piece.fields is not None:
                break
            wider = _Text(",".join(pieces[position : position + more]), last=position + more == total)
            if wider.fields is not None:
                piece, taken = wider, more
        yield piece
        position += taken


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


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
