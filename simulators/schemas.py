"""Decides which JSON schemas a provider accepts for structured output, and which it has compiled already.

Refuses to know the requests they come in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import orjson

KEPT_SECONDS = 24 * 3600.0
MOST_GRAMMARS = 5_000
MOST_OPTIONAL = 24
MOST_UNIONS = 16

_REFUSED_BY_ANTHROPIC = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems"}
)


class Grammars:
    """The schemas that were compiled, each kept for a day from its last use, apart for each workspace."""

    def __init__(self) -> None:
        self._expires: OrderedDict[bytes, float] = OrderedDict()

    def use(self, workspace: str, schema: Mapping[str, Any], *, now: float) -> bool:
        """Whether the schema must be compiled for this use; from now on it need not."""
        key = blake2b(workspace.encode() + b"\0" + orjson.dumps(schema), digest_size=16).digest()
        is_known = self._expires.pop(key, -1.0) >= now
        self._expires[key] = now + KEPT_SECONDS
        if len(self._expires) > MOST_GRAMMARS:
            self._expires.popitem(last=False)
        return not is_known

    def forget(self) -> None:
        """None compiled."""
        self._expires.clear()


def anthropic_fault(schema: Mapping[str, Any]) -> str | None:
    """What Anthropic would not accept about a schema; None when it would."""
    nodes = list(_nodes(schema))
    if _is_recursive(schema):
        return "recursive schemas are not supported"
    for node in nodes:
        refused = sorted(_REFUSED_BY_ANTHROPIC & set(node))
        if refused:
            return f"For '{node.get('type')}' type, property '{refused[0]}' is not supported"
        if node.get("type") == "object" and node.get("additionalProperties") is not False:
            return "For 'object' type, 'additionalProperties' must be explicitly set to false"
    optional = sum(len(set(node.get("properties") or {}) - set(node.get("required") or ())) for node in nodes)
    unions = sum("anyOf" in node or isinstance(node.get("type"), list) for node in nodes)
    if optional > MOST_OPTIONAL:
        return f"schemas may have at most {MOST_OPTIONAL} optional parameters, not {optional}"
    return f"schemas may have at most {MOST_UNIONS} unions, not {unions}" if unions > MOST_UNIONS else None


def openai_fault(schema: Mapping[str, Any]) -> str | None:
    """What OpenAI would not accept about a schema with `strict`; None when it would."""
    if schema.get("type") != "object":
        return "schema must be a JSON Schema of 'type: \"object\"'"
    for node in _nodes(schema):
        if node.get("type") != "object":
            continue
        if node.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        missing = sorted(set(node.get("properties") or {}) - set(node.get("required") or ()))
        if missing:
            return f"'required' must include every key in properties. Missing '{missing[0]}'"
    return None


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and every schema in it, as written: references are not followed."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        for value in inner.values() if isinstance(inner, Mapping) else ():
            yield from _nodes(value)
    yield from _nodes(schema.get("items"))
    for key in ("anyOf", "oneOf", "allOf"):
        for value in schema.get(key) or ():
            yield from _nodes(value)


def _is_recursive(schema: Mapping[str, Any]) -> bool:
    """Whether a definition refers to itself, or to the whole, over any number of steps."""
    defined = {
        f"#/{key}/{name}": value for key in ("$defs", "definitions") for name, value in (schema.get(key) or {}).items()
    }
    leads = {name: _references(value) for name, value in defined.items()} | {"#": _references(schema)}
    for start in leads:
        seen: set[str] = set()
        ahead = list(leads[start])
        while ahead:
            name = ahead.pop()
            if name == start:
                return True
            if name not in seen:
                seen.add(name)
                ahead += leads.get(name, ())
    return False


def _references(schema: Any) -> set[str]:
    return {str(node["$ref"]) for node in _nodes(schema) if "$ref" in node}
