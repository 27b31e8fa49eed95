"""Reads an item whose JSON is broken, where it is certain what was meant.

Decides what is certain. An item has few fields, and their names are known from the domain's schema: where each name
stands once, as a name, the text between two of them is a value, whatever became of quotes and commas. What is not
certain is not guessed but given up: a name that comes twice, a quote without its pair, a value that is cut off, text
that is nobody's. Nothing is made up and no word is lost: a value is what the model wrote. Why no library does this is
said in docs/decisions/0005-repairing-items.md. Linear in the text; knows neither streams nor what makes an item good.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

LONGEST_CHARS = 4096
_QUOTES = "\"'"
# A string as a whole (so that nothing inside it is taken for anything else), then what JSON does not have. What never
# ends goes to the end of the text, so that it is looked at once.
_FOREIGN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.|\\$)*(?:"|$))|(?P<comment>//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|$))'
    r"|(?P<comma>,(?=\s*[}\]]))|(?P<word>\b(?:True|False|None)\b)",
    re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_STRAY_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.))', re.DOTALL)
# A quote that looks like the end of a value, or a name: then it is not certain that the value goes on after it.
_STRUCTURE = r"\s*(?:[:}\]]|,\s*(?:[\"'{\[]|\w+[\"']?\s*:))"
_BARE = re.compile(r"[^\"'{}\[\]\n:\\]+")
_ELEMENT = re.compile(r"\s*(?:(?:\"([^\"\\\n]*)\"|'([^'\\\n]*)')(?:\s*,|\s*$|\s*(?=[\"']))|([\w.-]+)\s*(?:,|$))")
_BEFORE_A_NAME = frozenset("{,\"']}")

Repair = Callable[[str], dict[str, Any] | None]
"""The object that a text from ``{`` to ``}`` means, or None when that is not certain."""


def repair_of(schema: Mapping[str, Any]) -> Repair:
    """The repair of items of that schema: an object whose properties have a ``type``."""
    kinds = {name: part.get("type") for name, part in schema.get("properties", {}).items()}
    required = frozenset(schema.get("required", ()))
    by_length = sorted(kinds, key=len, reverse=True)
    names = re.compile(rf"(?<![\w.-])([\"']?)({'|'.join(map(re.escape, by_length))})([\"']?)\s*:") if kinds else None

    def repaired(text: str) -> dict[str, Any] | None:
        if names is None or len(text) > LONGEST_CHARS:
            return None
        found = list(names.finditer(text))
        present = [match[2] for match in found]
        if not present or len(set(present)) < len(present) or not required.issubset(present):
            return None
        whole = _without_foreign(text)
        return whole if whole is not None else _by_names(text, found, kinds)

    return repaired


def _without_foreign(text: str) -> dict[str, Any] | None:
    """The object when only comments, words of Python and commas too many kept it from being JSON."""
    value = _json(_FOREIGN.sub(_native, text))
    return value if isinstance(value, dict) else None


def _native(match: re.Match[str]) -> str:
    if match["string"]:
        return _escaped(match["string"])
    return _WORDS.get(match[0], "")


def _by_names(text: str, found: list[re.Match[str]], kinds: Mapping[str, Any]) -> dict[str, Any] | None:
    """The object, its values being what stands between its names."""
    if text[: found[0].start()].strip() != "{" or text[-1:] != "}" or not all(_stands(text, name) for name in found):
        return None
    item: dict[str, Any] = {}
    ends = [match.start() for match in found[1:]] + [len(text) - 1]
    for match, following, end in zip(found, [*found[1:], None], ends, strict=True):
        span = text[match.end() : end].strip()
        if span.endswith(",") and (following is not None or span[0] in "\"'[{"):
            span = span[:-1].rstrip()
        # Where a quoted name follows, the quote at the end of a text may be missing.
        value = _value(span, kinds[match[2]], may_lack_its_end=following is not None and bool(following[1]))
        if value is _UNCERTAIN:
            return None
        item[match[2]] = value
    return item


def _stands(text: str, name: re.Match[str]) -> bool:
    """Whether the name has quotes on both sides or on none, and then stands where a name can."""
    return name[1] == name[3] and bool(name[1] or text[: name.start()].rstrip()[-1:] in _BEFORE_A_NAME)


_UNCERTAIN = object()


def _value(span: str, kind: object, *, may_lack_its_end: bool) -> Any:
    if kind == "string":
        return _string(span, may_lack_its_end=may_lack_its_end)
    plain = _json(_FOREIGN.sub(_native, span), otherwise=_UNCERTAIN)
    if plain is not _UNCERTAIN or kind != "array":
        return plain
    return _array(span)


def _string(span: str, *, may_lack_its_end: bool) -> Any:
    """The text of a value with quotes around it, of either kind, or with none, or with only the first."""
    quote = span[:1]
    if quote not in _QUOTES or not quote:
        return span if _BARE.fullmatch(span) and "," not in span else _UNCERTAIN
    if len(span) > 1 and span[-1] == quote and not _is_escaped(span, len(span) - 1):
        inner = span[1:-1]
        open_quotes = [at for at, char in enumerate(inner) if char == quote and not _is_escaped(inner, at)]
        # Quotes within a text come in pairs; an odd number means that the text ends elsewhere.
        if (
            len(open_quotes) % 2
            or re.search(rf"{quote}{_STRUCTURE}", inner)
            or (open_quotes and inner != inner.strip())
        ):
            return _UNCERTAIN
        return _unescaped(inner)
    inner = span[1:]
    if may_lack_its_end and _BARE.fullmatch(inner):
        return _unescaped(inner)
    return _UNCERTAIN


def _is_escaped(text: str, at: int) -> bool:
    before = at
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def _unescaped(inner: str) -> Any:
    """What the inside of a string means, whatever quotes stand around it."""
    text = _escaped(inner)
    parts = re.split(r"(\\.)", text, flags=re.DOTALL)
    closed = "".join(part if part.startswith("\\") else part.replace('"', '\\"') for part in parts)
    return _json(f'"{closed}"', otherwise=_UNCERTAIN)


def _escaped(text: str) -> str:
    """The text without backslashes before what needs none."""
    return text if "\\" not in text else _STRAY_ESCAPE.sub(lambda each: each[0] if each[1] else each[2], text)


def _array(span: str) -> Any:
    """Short texts in brackets, in quotes of either kind or none, the last bracket missing perhaps."""
    if not span.startswith("["):
        return _UNCERTAIN
    inner = (span[1:-1] if span.endswith("]") else span[1:]).strip()
    elements: list[str] = []
    at = 0
    while at < len(inner):
        match = _ELEMENT.match(inner, at)
        if match is None:
            return _UNCERTAIN
        elements.append(next(text for text in match.groups()[:3] if text is not None))
        at = match.end()
    return elements


def _json(text: str, otherwise: Any = None) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return otherwise
