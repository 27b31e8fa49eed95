"""What a model is asked, with a technique and without it.

Decides the form of the prompt: the static part, the request with its records, the schema of the answer. Every arm asks
for the same items of the same domain. Refuses to know who sends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bench.arms.knowledge import Document
from bench.arms.queries import Query
from bench.arms.techniques import Techniques
from headway.domain import Domain

ITEM_TOKENS = {"lean": 130, "full": 260}
"""Most output tokens of one item; on average it is half of that."""
ENVELOPE_TOKENS = 16
# What strict structured output takes, and little else.
_KEPT = ("type", "description", "enum", "properties", "required", "additionalProperties", "items")
_TEXT: Mapping[str, Any] = {"type": "string"}
_NUMBER: Mapping[str, Any] = {"type": "integer"}
_FLAG: Mapping[str, Any] = {"type": "boolean"}
UNSHOWN_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "category": _TEXT,
    "area": _TEXT,
    "tags": {"type": "array", "items": _TEXT},
    "best_season": _TEXT,
    "price_level": _NUMBER,
    "stay_minutes": _NUMBER,
    "rating": _NUMBER,
    "child_friendly": _FLAG,
}
"""What is asked for besides the fields that are shown, because one might need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One call's prompt. `known` are the ids that items may rest on, `item_schema` is what each must follow."""

    system: list[dict[str, Any]]
    message: str
    schema: Mapping[str, Any]
    item_schema: Mapping[str, Any]
    known: frozenset[str]
    count: int
    max_tokens: int


class Prompts:
    """The prompts of a domain, in every form."""

    def __init__(self, domain: Domain) -> None:
        self._guide = domain.prompt.strip()
        self._lean = _provider_schema(domain.item_schema)
        properties = {**self._lean["properties"], **UNSHOWN_FIELDS}
        self._full = {**self._lean, "properties": properties, "required": list(properties)}

    def prompt(
        self,
        query: Query,
        techniques: Techniques,
        documents: Sequence[Document],
        *,
        section: str,
        count: int,
        time_of_day: str,
    ) -> Prompt:
        """The prompt for `count` items out of the documents; an empty section is all of them."""
        item = self._lean if techniques.lean_schema else self._full
        names = {f"r{place}": document for place, document in enumerate(documents, 1)}
        return Prompt(
            system=self._system(item, techniques, time_of_day),
            message=_message(query, names, techniques, section=section, count=count),
            schema=_wrapper(item),
            item_schema=item,
            known=frozenset(names),
            count=count,
            max_tokens=count * ITEM_TOKENS["lean" if techniques.lean_schema else "full"] + ENVELOPE_TOKENS,
        )

    def _system(self, item: Mapping[str, Any], techniques: Techniques, time_of_day: str) -> list[dict[str, Any]]:
        text = f"{self._guide}\n\nEvery item follows this JSON schema:\n{orjson.dumps(item).decode()}\n"
        if techniques.prompt_cache:
            return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
        return [{"type": "text", "text": f"It is {time_of_day}.\n\n{text}"}]


def _message(query: Query, names: Mapping[str, Document], techniques: Techniques, *, section: str, count: int) -> str:
    asked: dict[str, object] = {"query": query.text, "language": query.language, "count": count}
    if section:
        asked["section"] = section
    lines = [
        _line({"id": name, "name": each.name, "facts": each.facts if techniques.compressed else each.page})
        for name, each in names.items()
    ]
    return f"<request>\n{_line(asked)}\n</request>\n<records>\n" + "\n".join(lines) + "\n</records>"


def _line(value: object) -> str:
    """One line of JSON that cannot close the block it stands in."""
    text = orjson.dumps(value).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _provider_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: schema[name] for name in _KEPT if name in schema}
    if "properties" in kept:
        kept["properties"] = {name: _provider_schema(part) for name, part in kept["properties"].items()}
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


def _wrapper(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": item}},
        "required": ["items"],
        "additionalProperties": False,
    }
