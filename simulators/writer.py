"""Decides what a model would answer: items about the records it was given, in the query's language, in the shape it
was asked for.

Deterministic: the same ask and the same schema give the same text. Refuses to know providers, time and transport.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from zlib import crc32

import orjson

from simulators.phrases import body, plain_answer, reason, word
from simulators.prompt import Ask, Record

FIELDS: Mapping[str, object] = {
    "sources": {"type": "array", "items": {"type": "string"}},
    "title": {"type": "string"},
    "body": {"type": "string"},
    "reason": {"type": "string"},
}


def write(ask: Ask, schema: Mapping[str, object] | None) -> list[str]:
    """The answer in parts that end where an item ends; joined they are the whole text.

    With a schema the whole is one JSON document; without, one JSON object a line; without records, a plain
    sentence.
    """
    if schema is not None:
        return _document(ask, schema)
    if not ask.records or not ask.count:
        return [plain_answer(ask.query, ask.language)] if ask.count else [""]
    return [item + "\n" for item in _items(ask, FIELDS)]


def _items(ask: Ask, fields: Mapping[str, object]) -> list[str]:
    return [_json(_filled(fields, ask, record)) for record in ask.records[: ask.count]]


def _document(ask: Ask, schema: Mapping[str, object]) -> list[str]:
    resolved = _resolved(schema, schema)
    properties = _properties(resolved) or {
        "items": {"type": "array", "items": {"type": "object", "properties": FIELDS}}
    }
    place = next((key for key, value in properties.items() if _is_list_of_objects(value, schema)), None)
    record = ask.records[0] if ask.records else Record(id="", name=ask.query[:40], facts="")
    if place is None:
        return [_json(_filled(properties, ask, record, root=schema))]
    element = _resolved(_mapping(properties[place]).get("items"), schema)
    items = [_json(_filled(_properties(element), ask, each, root=schema)) for each in ask.records[: ask.count]]
    keys = list(properties)
    at = keys.index(place)
    before = "".join(f"{_json(key)}:{_json(_value(key, properties[key], ask, record, schema))}," for key in keys[:at])
    after = "".join(
        f",{_json(key)}:{_json(_value(key, properties[key], ask, record, schema))}" for key in keys[at + 1 :]
    )
    opening, closing = f"{{{before}{_json(place)}:[", f"]{after}}}"
    if not items:
        return [opening + closing]
    items[0] = opening + items[0]
    return [*(item + "," for item in items[:-1]), items[-1] + closing]


def _filled(
    fields: Mapping[str, object], ask: Ask, record: Record, *, root: Mapping[str, object] | None = None
) -> dict[str, object]:
    return {key: _value(key, schema, ask, record, root or {}) for key, schema in fields.items()}


def _value(key: str, schema: object, ask: Ask, record: Record, root: Mapping[str, object]) -> object:
    """A value for one field: by its name when that says what it is, else by its type."""
    shape = _resolved(schema, root)
    options = shape.get("enum")
    if "const" in shape:
        return shape["const"]
    if isinstance(options, list) and options:
        return ask.section if ask.section in options else options[crc32(record.id.encode()) % len(options)]
    kind = shape.get("type")
    kind = next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    if kind == "array":
        return _list(key, shape, ask, record, root)
    if kind == "object":
        return _filled(_properties(shape), ask, record, root=root)
    if kind in ("integer", "number"):
        return crc32(f"{record.id}{key}".encode()) % 5 + 1
    if kind == "boolean":
        return crc32(f"{record.id}{key}".encode()) % 2 == 0
    return None if kind == "null" else _text(key, ask, record)


def _list(key: str, shape: Mapping[str, object], ask: Ask, record: Record, root: Mapping[str, object]) -> list[object]:
    if key in ("sources", "source_ids", "record_ids", "ids", "citations"):
        return [record.id] if record.id else []
    return [_value(key, shape.get("items"), ask, record, root)]


def _text(key: str, ask: Ask, record: Record) -> str:
    if key in ("id", "record_id", "source", "source_id"):
        return record.id
    if key in ("title", "name", "headline"):
        return record.name
    if key in ("body", "description", "text", "summary", "content", "details"):
        return body(record, ask.query, ask.language)
    if key in ("reason", "why", "rationale"):
        return reason(record, ask.query, ask.language)
    return word(key, record, ask.language)


def _resolved(schema: object, root: Mapping[str, object]) -> Mapping[str, object]:
    """The schema itself, one reference and one choice away at most: the providers accept no recursion."""
    shape = _mapping(schema)
    for _ in range(4):
        reference = shape.get("$ref")
        choices = shape.get("anyOf") or shape.get("oneOf") or shape.get("allOf")
        if isinstance(reference, str) and reference.startswith("#/"):
            shape = _followed(reference, root)
        elif isinstance(choices, list) and choices:
            shape = _mapping(next((each for each in choices if _mapping(each).get("type") != "null"), choices[0]))
    return shape


def _followed(reference: str, root: Mapping[str, object]) -> Mapping[str, object]:
    shape: Mapping[str, object] = root
    for step in reference[2:].split("/"):
        shape = _mapping(shape.get(step))
    return shape


def _is_list_of_objects(schema: object, root: Mapping[str, object]) -> bool:
    shape = _resolved(schema, root)
    return shape.get("type") == "array" and bool(_properties(_resolved(shape.get("items"), root)))


def _properties(schema: Mapping[str, object]) -> Mapping[str, object]:
    return _mapping(schema.get("properties"))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def joined(parts: Iterable[str]) -> str:
    """The whole answer."""
    return "".join(parts)
