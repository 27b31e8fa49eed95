"""Takes finished items out of a model's text and says whether they are valid.

Decides where an item ends in a document {"items": [...]} of which only the beginning may be there, and what a valid
item is. Refuses to know who wrote it. Each character is looked at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import jsonschema
import orjson

_ITEM_DEPTH = 2
"""Braces open inside an item that is complete but for its end: the document's and its own."""


class ItemScanner:
    """Takes the text in pieces, wherever it was cut."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._open: list[str] = []

    def feed(self, text: str) -> Iterator[Mapping[str, Any]]:
        """The items that end within this piece. Raises ValueError when one of them is not JSON."""
        start = 0 if self._open or self._depth >= _ITEM_DEPTH else None
        for place, character in enumerate(text):
            if self._in_string:
                if self._escaped:
                    self._escaped = False
                elif character == "\\":
                    self._escaped = True
                elif character == '"':
                    self._in_string = False
            elif character == '"':
                self._in_string = True
            elif character == "{":
                self._depth += 1
                if self._depth == _ITEM_DEPTH:
                    start = place
            elif character == "}":
                self._depth -= 1
                if self._depth == _ITEM_DEPTH - 1 and start is not None:
                    self._open.append(text[start : place + 1])
                    yield orjson.loads("".join(self._open))
                    self._open.clear()
                    start = None
        if start is not None:
            self._open.append(text[start:])


class Validity:
    """Whether items are valid: by the schema, and resting on records that were in the prompt, each once."""

    def __init__(self, schema: Mapping[str, Any], known: Collection[str]) -> None:
        self._check = jsonschema.Draft202012Validator(schema)
        self._known = known
        self._given: set[str] = set()

    def accepts(self, item: Mapping[str, Any]) -> bool:
        """Whether an item is one; a second one about the same record is not."""
        if not self._check.is_valid(item):
            return False
        sources = item.get("sources") or [""]
        if sources[0] not in self._known or sources[0] in self._given:
            return False
        self._given.add(sources[0])
        return True
