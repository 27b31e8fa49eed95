"""What a model is asked: a static prefix that is the same byte for byte, then the request and its records.

Decides the form of the prompt and how data is kept apart from instructions. The prefix depends on the domain and on
how the answer is asked for (JSON lines or a schema), never on the request, so that a provider can cache it. Knows
no provider.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from headway.domain import Domain
from headway.records import Record
from headway.slots import Relation, Slot

FACTS_CHARS = 400
NAME_CHARS = 120
QUERY_CHARS = 2000
SPARE_RECORDS = 6
"""So many records more than twice the items wanted are shown, so that there is a choice but the prompt stays
short."""

_LINES = """## Form of the answer

Write each item as one JSON object on a line of its own, and nothing else: no list around the objects, no text
before or after them, no code fence. Finish an item before you begin the next one. Every object follows this JSON
schema:
"""
_DOCUMENT = """## Form of the answer

Write one JSON document, {"items": [...]}, whose elements are the items, and nothing else. Finish an item before you
begin the next one. Every element follows this JSON schema:
"""
# What a schema for a provider may hold: both accept these in their strict modes, and little else.
_KEPT = ("type", "description", "enum", "properties", "required", "additionalProperties", "items")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The static part. ``schema`` is what the whole answer must follow, None when it is one object a line;
    ``cache_key`` changes with every byte of the prefix and of the schema."""

    text: str
    schema: Mapping[str, Any] | None
    cache_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted, as the varying part says it."""

    query: str
    language: str
    section: str
    slots: Sequence[Slot]


def prefix(domain: Domain, *, structured: bool) -> Prefix:
    """The prefix for a domain. Two kinds: for models that take a schema, and for those that do not."""
    schema = provider_schema(domain.item_schema)
    form = _DOCUMENT if structured else _LINES
    text = f"{domain.prompt.strip()}\n\n{form}{orjson.dumps(schema).decode()}\n"
    wrapper = _wrapper(schema) if structured else None
    digest = hashlib.blake2b(text.encode() + orjson.dumps(wrapper), digest_size=8).hexdigest()
    return Prefix(text=text, schema=wrapper, cache_key=f"headway-{domain.name[:32]}-{digest}")


def provider_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without the keywords that strict modes refuse, objects closed and every property required.

    What was left out is still checked when an item comes in.
    """
    kept: dict[str, Any] = {}
    for name in _KEPT:
        if name not in schema:
            continue
        value = schema[name]
        if name == "properties":
            value = {key: provider_schema(part) for key, part in value.items()}
        elif name == "items" and isinstance(value, Mapping):
            value = provider_schema(value)
        kept[name] = value
    if kept.get("type") == "object" and "properties" in kept:
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


def _wrapper(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": schema}},
        "required": ["items"],
        "additionalProperties": False,
    }


def aliased(records: Sequence[Record], *, count: int) -> dict[str, Record]:
    """The records that a prompt shows, by their short names "r1", "r2" ..., best first.

    The names stay the same over all attempts of a request, whatever was written about meanwhile.
    """
    shown = records[: 2 * count + SPARE_RECORDS]
    return {f"r{number}": record for number, record in enumerate(shown, 1)}


def message(wish: Wish, aliases: Mapping[str, Record], *, count: int, given: frozenset[str]) -> str:
    """The varying part: the request, then one record a line. Records in ``given`` (ids) are left out, and named in
    ``exclude``."""
    asked = {
        "query": wish.query[:QUERY_CHARS],
        "language": wish.language,
        "section": wish.section,
        "count": count,
        "slots": [_slot(slot) for slot in wish.slots],
        "exclude": [alias for alias, record in aliases.items() if record.id in given],
    }
    lines = [
        _line({"id": alias, "name": record.name[:NAME_CHARS], "facts": _facts(record)})
        for alias, record in aliases.items()
        if record.id not in given
    ]
    return f"<request>\n{_line(asked)}\n</request>\n<records>\n" + "\n".join(lines) + "\n</records>"


def _facts(record: Record) -> str:
    return (record.facts or record.description)[:FACTS_CHARS]


def _slot(slot: Slot) -> dict[str, object]:
    said: dict[str, object] = {"name": slot.name, "value": slot.value}
    if slot.relation is not Relation.EQUAL:
        said["relation"] = slot.relation.name.lower()
    if slot.text and slot.text != slot.value:
        said["text"] = slot.text
    return said


def _line(value: object) -> str:
    """One line of JSON in which no angle bracket or ampersand stands as itself, so that data cannot close its
    block."""
    text = orjson.dumps(value).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
