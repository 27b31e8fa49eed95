"""Cuts items out of a model's text while it is still being written.

Decides where an item begins and ends. Takes JSONL, the elements of an array, or ``{"items": [...]}``, in whatever
chunks the text comes; passes over prose, code fences and stray commas. Knows neither what an item must hold nor
where the text comes from.

How it works: outside an item only ``{`` matters. From there a strict JSON state machine follows the text, so that
breakage shows at the first character that cannot stand where it stands, not at the end of the answer. A key whose
value is the array of items makes the object a wrapper, and what follows are its elements. A broken element is given
up: the last place within it that looks like the beginning of another one (a brace after a comma, a bracket, another
brace or a line break) is taken for one, and if there is none, the next such place after it. Each character is
therefore looked at no more than a fixed number of times.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection
from typing import Any

import orjson

from services.generator.mending import Mending
from services.generator.repair import Repair

MAX_ITEM_CHARS = 16_384
MAX_DEPTH = 32

_NAME, _NAME_OR_END, _COLON, _VALUE, _VALUE_OR_END, _NEXT, _STRING, _ESCAPE, _LITERAL = range(9)
_IN_STRING = re.compile(r'[^"\\]*')
_IN_LITERAL = re.compile(r"[-+.\w]*", re.ASCII)
_SPACE = re.compile(r"[ \t\r\n]*")
_LITERAL_START = frozenset("-0123456789tfn")
_BORDERS = frozenset(",[}")
# A string as a whole (so that nothing inside it is taken for structure), or a comma with nothing after it.
_STRING_OR_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_STRAY_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.))', re.DOTALL)


class ItemStream:
    """Feed it text in any pieces; it returns each item as soon as its last brace is there.

    ``fields`` are the names that an item may have: the array of objects under any other name, and always that under
    ``items`` unless it is one of them, holds the items. ``repair`` may know what a broken element means.
    ``malformed`` counts elements that were given up, ``repaired`` those that were not lost though broken,
    ``truncated`` is 1 when the text ended within one, ``examined_chars`` is the work done. The same text gives the
    same items and counts however it is cut.
    """

    __slots__ = (
        "_border",
        "_decoder",
        "_fields",
        "_is_name",
        "_max_item_chars",
        "_mending",
        "_named",
        "_outer_name",
        "_parts",
        "_parts_chars",
        "_stack",
        "_state",
        "_strict",
        "_within",
        "examined_chars",
        "malformed",
        "repaired",
        "truncated",
    )

    def __init__(
        self, *, fields: Collection[str] = (), max_item_chars: int = MAX_ITEM_CHARS, repair: Repair | None = None
    ) -> None:
        self.malformed = 0
        self.repaired = 0
        self.truncated = 0
        self.examined_chars = 0
        self._fields = frozenset(fields)
        self._max_item_chars = max_item_chars
        self._mending = Mending(repair or _nothing)
        self._decoder: codecs.IncrementalDecoder | None = None
        self._within = False  # within an element
        self._strict = False  # after breakage: only a brace that follows a border begins an element
        self._border = True  # outside an element: the text so far ends with a border
        self._parts: list[str] = []
        self._parts_chars = 0
        self._forget()

    def feed_bytes(self, chunk: bytes) -> list[dict[str, Any]]:
        """Like ``feed`` for UTF-8, cut anywhere; what is not UTF-8 becomes U+FFFD."""
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return self.feed(self._decoder.decode(chunk))

    def feed(self, chunk: str) -> list[dict[str, Any]]:
        """The items that this piece completes, in order."""
        items: list[dict[str, Any]] = []
        mending = self._mending
        start = 0
        while start < len(chunk):
            if not mending.watches:
                start = self._read(chunk, start, items)
                continue
            if (item := mending.next(chunk, start)) is not None:
                self._mended(item, items)
                continue
            # Up to the next closing brace, with which a broken element may end.
            stop = chunk.find("}", start) + 1 or len(chunk)
            text, known = chunk[start:stop], len(items)
            start += self._read(text, 0, items)
            if len(items) > known:
                mending.forget()
        return items

    def close(self) -> list[dict[str, Any]]:
        """The text has ended: an element that is still open is dropped and counted. Returns the item, if any, of which
        only the end of the text shows that it is whole."""
        items: list[dict[str, Any]] = []
        if (item := self._mending.last()) is not None:
            self._mended(item, items)
        if self._within and self._named:
            self.truncated += 1
        self._mending.forget()
        self._leave(border=self._border)
        return items

    def _read(self, text: str, start: int, items: list[dict[str, Any]]) -> int:
        """Reads on; returns where it stopped, at the end of the text or where an element broke."""
        begun, work = start, [(text, start)]
        broke = False
        while work:
            piece, at = work.pop()
            while at < len(piece):
                if not self._within:
                    at = self._seek(piece, at)
                    continue
                broken_at = self._follow(piece, at, items)
                if broken_at < 0:
                    at = ~broken_at
                    continue
                if piece is text:
                    self._mending.saw(text[begun:broken_at])
                    start, broke = broken_at, True
                again, at = self._give_up(piece, at, broken_at, is_new=piece is text)
                if again:
                    if piece is not text:
                        work.append((piece, at))
                    work.append((again, 0))
                    break
                if piece is text:
                    break
        if broke:
            return start
        if self._mending.watches:
            self._mending.saw(text[begun:])
        return len(text)

    def _mended(self, item: dict[str, Any], items: list[dict[str, Any]]) -> None:
        """The element that was broken was repaired: what was taken for others within it was none."""
        items.append(item)
        self.repaired += 1
        self.malformed = self._mending.malformed
        self._strict = False
        self._leave(border=True)

    def _forget(self) -> None:
        self._stack: list[str] = []
        self._state = _NAME_OR_END
        self._is_name = False
        self._named = False  # a name was begun, so it is JSON and not a brace in prose
        self._outer_name = ""  # the last name directly in the element

    def _seek(self, text: str, start: int) -> int:
        """Moves to the next brace that begins an element; returns where to go on."""
        while True:
            brace = text.find("{", start)
            end = len(text) if brace < 0 else brace
            self._border = _ends_with_border(text, start, end, before=self._border)
            self.examined_chars += end - start
            if brace < 0:
                return end
            if self._border or not self._strict:
                self._within = True
                self._stack.append("{")
                self._parts.append("{")
                self._parts_chars = 1
                return brace + 1
            self._border = False
            start = brace + 1

    def _follow(self, text: str, start: int, items: list[dict[str, Any]]) -> int:
        """Follows the element. Returns where it broke, or the complement (~) of where to go on when it did not."""
        limit = start + self._max_item_chars - self._parts_chars
        stop = min(len(text), limit)
        stack, state, at = self._stack, self._state, start
        while at < stop:
            if state == _STRING:
                end = _IN_STRING.match(text, at, stop).end()  # type: ignore[union-attr]  # the pattern matches nothing, too
                if self._is_name and len(stack) == 1:
                    self._outer_name += text[at:end]
                if end < stop:
                    after = _COLON if self._is_name else _NEXT
                    state = after if text[end] == '"' else _ESCAPE
                    end += 1
                at = end
                continue
            if state == _ESCAPE:
                state, at = _STRING, at + 1
                continue
            if state == _LITERAL:
                at = _IN_LITERAL.match(text, at, stop).end()  # type: ignore[union-attr]
                if at < stop:
                    state = _NEXT
                continue
            at = _SPACE.match(text, at, stop).end()  # type: ignore[union-attr]
            if at >= stop:
                break
            char = text[at]
            if char == '"' and state in (_NAME, _NAME_OR_END, _VALUE, _VALUE_OR_END):
                self._is_name = state in (_NAME, _NAME_OR_END)
                if self._is_name and len(stack) == 1:
                    self._outer_name = ""
                self._named = True
                state = _STRING
            elif char == ":" and state == _COLON:
                state = _VALUE
            elif char == "," and state == _NEXT:
                state = _NAME_OR_END if stack[-1] == "{" else _VALUE_OR_END
            elif char in _LITERAL_START and state in (_VALUE, _VALUE_OR_END):
                state = _LITERAL
            elif char in "{[" and state in (_VALUE, _VALUE_OR_END) and len(stack) < MAX_DEPTH:
                if self._opens_items(char):
                    self._leave(border=True)
                    self.examined_chars += at - start
                    # The bracket is outside; a brace belongs to the first element.
                    return ~(at + (char == "["))
                stack.append(char)
                state = _NAME_OR_END if char == "{" else _VALUE_OR_END
            elif char in "}]" and self._closes(char, state):
                stack.pop()
                state = _NEXT
                if not stack:
                    self._parts.append(text[start : at + 1])
                    self.examined_chars += at + 1 - start
                    self._complete(items)
                    return ~(at + 1)
            else:
                self._state = state
                self.examined_chars += at - start
                return at
            at += 1
        self._state = state
        self.examined_chars += at - start
        if at < len(text):
            return at
        self._parts.append(text[start:])
        self._parts_chars += len(text) - start
        return ~at

    def _opens_items(self, char: str) -> bool:
        """True when this bracket or brace begins the array of items, or its first element."""
        stack = self._stack
        if char == "[":
            return len(stack) == 1 and self._outer_name == "items" and "items" not in self._fields
        return len(stack) == 2 and stack[1] == "[" and bool(self._fields) and self._outer_name not in self._fields

    def _closes(self, char: str, state: int) -> bool:
        if char == "}":
            return self._stack[-1] == "{" and state in (_NEXT, _NAME_OR_END)
        return self._stack[-1] == "[" and state in (_NEXT, _VALUE_OR_END)

    def _complete(self, items: list[dict[str, Any]]) -> None:
        text, named = "".join(self._parts), self._named
        self._leave(border=True)
        if not named:
            return
        item = _parsed(text)
        if item is None:
            item = self._mending.whole(text)
            self.repaired += item is not None
        if item is None:
            self.malformed += 1
        else:
            self._strict = False
            items.append(item)

    def _leave(self, *, border: bool) -> None:
        self._within = False
        self._border = border
        self._parts.clear()
        self._parts_chars = 0
        self._forget()

    def _give_up(self, text: str, start: int, broken_at: int, *, is_new: bool) -> tuple[str, int]:
        """Drops the element. Returns the part of it to look at again, if any, and where to go on in the text."""
        whole = "".join(self._parts) + text[start:broken_at]
        if is_new:
            self._mending.began(whole, depth=self._stack.count("{"), malformed=self.malformed)
        if self._named:
            self.malformed += 1
            self._strict = True
        again = _last_beginning(whole)
        self.examined_chars += len(whole)
        self._leave(border=False)
        if again:
            self._border = True
            return whole[again:], broken_at
        self._border = _ends_with_border(whole, 0, len(whole), before=False)
        return "", broken_at


def _nothing(_text: str) -> None:
    """Repairs nothing."""


def _ends_with_border(text: str, start: int, end: int, *, before: bool) -> bool:
    """Whether text[start:end] ends where an element may begin; ``before`` stands for what came before it."""
    at = end
    while at > start and text[at - 1] in " \t\r\n":
        at -= 1
        if text[at] == "\n":
            return True
    return text[at - 1] in _BORDERS if at > start else before


def _last_beginning(text: str) -> int:
    """Where the last brace after a border stands, or 0 when there is none but the first character."""
    at = text.rfind("{", 1)
    while at > 0:
        if _ends_with_border(text, 0, at, before=False):
            return at
        at = text.rfind("{", 1, at)
    return 0


def _parsed(text: str) -> dict[str, Any] | None:
    """The object, also when it has commas too many, stray backslashes or raw line breaks in strings; else None."""
    try:
        return orjson.loads(text)  # type: ignore[no-any-return]  # it begins with a brace
    except orjson.JSONDecodeError:
        mended = _STRING_OR_TRAILING_COMMA.sub(_mend, text)
    try:
        return json.loads(mended, strict=False)  # type: ignore[no-any-return]
    except ValueError:
        return None


def _mend(match: re.Match[str]) -> str:
    found = match[0]
    if found == ",":
        return ""
    return found if "\\" not in found else _STRAY_ESCAPE.sub(lambda each: each[0] if each[1] else each[2], found)
