"""Decides what OpenAI's two endpoints accept alike: access, models, schemas, and how a prompt is cut for its cache.

Refuses to know either endpoint's events, and errors that no request causes (`simulators.openai_errors`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from simulators.openai_errors import invalid, prepared
from simulators.prompt_cache import Found, Position, Prefix, keyed
from simulators.scenario import Model
from simulators.schemas import openai_fault
from simulators.tokens import BYTES_PER_TOKEN, count
from simulators.turn import Call, Fingerprint, Incoming, Refused, Usage

LIFETIMES = {"30m": 1_800.0, "12h": 43_200.0}
READ_PRICE = 0.1
WRITE_PRICE = 1.25
STEP_TOKENS = 128
LEAST_TOKENS = 1_024
MOST_WRITTEN = 4
MOST_CONSIDERED = 80


def check_key(incoming: Incoming) -> None:
    """`Refused` with 401 when the key is missing or not one of the scenario's."""
    key = key_of(incoming)
    if not key or (incoming.scenario.keys and key not in incoming.scenario.keys):
        raise prepared(401)


def key_of(incoming: Incoming) -> str:
    """The caller's key, empty when there is none."""
    return incoming.headers.get("authorization", "").removeprefix("Bearer ").strip()


def model_of(incoming: Incoming) -> tuple[str, Model]:
    """The model's name and what it is like; `Refused` with 404 when the scenario has none for that name."""
    name = incoming.body.get("model")
    if not isinstance(name, str) or not name:
        raise invalid("you must provide a model parameter", None)
    model = incoming.scenario.model(name)
    if model is None:
        message = f"The model `{name}` does not exist or you do not have access to it."
        raise Refused(404, "invalid_request_error", message, code="model_not_found")
    return name, model


def table_of(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under `key`, empty when there is none; `Refused` when it is something else."""
    value = body.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise invalid(f"Invalid type for '{key}': expected an object.", key, "invalid_type")
    return value or {}


def limit_of(body: Mapping[str, Any], *keys: str, low: int = 1) -> int | None:
    """The largest number of output tokens, by the first of `keys` that is there."""
    for key in keys:
        value = body.get(key)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                message = f"Invalid '{key}': integer below minimum value. Expected a value >= {low}, but got {value!r}."
                raise invalid(message, key, "integer_below_min_value")
            return value
    return None


def messages_of(body: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The messages under `key`, at least one; `Refused` when they are not objects."""
    messages = body.get(key)
    if not isinstance(messages, list) or not messages:
        raise invalid(
            f"Missing required parameter: '{key}', at least one is needed.", key, "missing_required_parameter"
        )
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise invalid(f"Invalid type for '{key}[{place}]': expected an object.", f"{key}[{place}]", "invalid_type")
    return messages


def text_of(content: Any) -> str:
    """The text of a message's content, whichever of the accepted shapes it has."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def last_user_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """The text of the last message whose role is user, empty when there is none."""
    for message in reversed(list(messages)):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def fingerprint_of(
    incoming: Incoming, parameters: Mapping[str, object], model: Model, messages: list[Any]
) -> Fingerprint:
    """What the cache goes by: the parameters, the tools and the messages, in that order.

    A prefix is kept in steps of 128 tokens from 1,024 on, and exactly at a `prompt_cache_breakpoint`; each for
    itself under
    its `prompt_cache_key`. `prompt_cache_options` choose between the two and for how long.
    """
    body = incoming.body
    options = _options(body, model)
    known = {
        "model_changed": body.get("model"),
        "prompt_cache_key_changed": body.get("prompt_cache_key"),
        "tools_changed": body.get("tools"),
        **parameters,
    }
    root = [key_of(incoming).encode(), orjson.dumps(list(known.values()))]
    tools = [{"tools": body["tools"]}] if body.get("tools") else []
    parts = [(orjson.dumps(part), lifetime) for part, lifetime in _parts([*tools, *messages], options)]
    text = b"".join(part for part, _ in parts)
    positions = _positions(root, text, parts, options)
    whole = keyed(root, text, [len(text)])[0]
    return Fingerprint(
        parameters=known, prefix=Prefix(positions=positions, total_tokens=count(len(text)), digest=whole[0])
    )


def group_of(prefix: Prefix) -> bytes:
    """Calls that begin alike, under one `prompt_cache_key`."""
    return prefix.positions[0].key if prefix.positions else b""


def _options(body: Mapping[str, Any], model: Model) -> Mapping[str, Any]:
    options = table_of(body, "prompt_cache_options")
    if options and not model.cache_options:
        raise invalid(
            "Unsupported parameter: 'prompt_cache_options' is not supported with this model.", "prompt_cache_options"
        )
    if options.get("mode", "implicit") not in ("implicit", "explicit") or options.get("ttl", "30m") not in LIFETIMES:
        raise invalid("Invalid value in 'prompt_cache_options'.", "prompt_cache_options", "invalid_value")
    return options


def _parts(messages: list[Any], options: Mapping[str, Any]) -> Iterable[tuple[Any, float | None]]:
    """Every part of every message, without its breakpoint, and how long the prefix up to it is kept by that
    breakpoint."""
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else message
        if not isinstance(content, list):
            yield message, None
            continue
        for part in content:
            mark = part.get("prompt_cache_breakpoint") if isinstance(part, Mapping) else None
            bare = {key: value for key, value in part.items() if key != "prompt_cache_breakpoint"} if mark else part
            ttl = mark.get("ttl", options.get("ttl", "30m")) if isinstance(mark, Mapping) else None
            yield [message.get("role"), bare], LIFETIMES.get(str(ttl))


def _positions(
    root: list[bytes], text: bytes, parts: list[tuple[bytes, float | None]], options: Mapping[str, Any]
) -> tuple[Position, ...]:
    marks: dict[int, float] = {}
    size = 0
    for part, lifetime in parts:
        size += len(part)
        if lifetime is not None:
            marks[size] = lifetime
    is_implicit = options.get("mode", "implicit") == "implicit"
    written = list(marks)[-(MOST_WRITTEN - is_implicit) :]
    considered = set(list(marks)[-MOST_CONSIDERED:])
    step = STEP_TOKENS * BYTES_PER_TOKEN
    steps = set(range(LEAST_TOKENS * BYTES_PER_TOKEN, len(text) + 1, step)) if is_implicit else set()
    cuts = sorted(steps | considered)
    implicit = LIFETIMES[options.get("ttl", "30m")]
    return tuple(
        Position(key=key, tokens=tokens, lifetime=marks[cut] if cut in written else implicit if cut in steps else None)
        for cut, (key, tokens) in zip(cuts, keyed(root, text, cuts), strict=True)
    )


def checked_schema(described: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The schema of a `{name, schema, strict}`; `Refused` when the provider would not take it."""
    if not isinstance(described.get("name"), str) or not 0 < len(described["name"]) <= 64:
        raise invalid(f"Invalid '{where}.name'.", f"{where}.name")
    schema = described.get("schema")
    if not isinstance(schema, Mapping):
        raise invalid(f"Missing required parameter: '{where}.schema'.", f"{where}.schema")
    fault = openai_fault(schema) if described.get("strict") else None
    if fault:
        message = f"Invalid schema for response_format '{described['name']}': {fault}"
        raise invalid(message, where.partition(".")[0], "invalid_json_schema")
    return schema


def billed_input(call: Call, found: Found) -> float:
    """Reading costs a tenth; writing a quarter more, where the model counts it."""
    price = WRITE_PRICE if call.model.cache_options else 1.0
    prices = dict.fromkeys(LIFETIMES.values(), price)
    return found.billed(call.prefix.total_tokens, read_price=READ_PRICE, write_prices=prices)


def input_details(usage: Usage, model: Model) -> dict[str, Any]:
    """Cached tokens are part of the input tokens here, unlike at Anthropic; older models do not count what they
    write."""
    written = usage.found.all_written_tokens if model.cache_options else 0
    return {"cached_tokens": usage.found.read_tokens, "cache_write_tokens": written}
