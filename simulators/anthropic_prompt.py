"""Decides which requests Anthropic's Messages API accepts, and how a prompt is cut for the prompt cache.

Refuses to know answers, errors other than those of a request, and limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

import orjson

from simulators.anthropic_frames import LIFETIMES
from simulators.prompt_cache import Position, Prefix, keyed
from simulators.scenario import Model
from simulators.schemas import anthropic_fault
from simulators.turn import Fingerprint, Incoming, Refused

VERSIONS = ("2023-06-01", "2026-10-21")
LOOK_BACK_BLOCKS = 20
MOST_BREAKPOINTS = 4

Block = tuple[str, Mapping[str, Any]]


def invalid(message: str) -> Refused:
    """A 400 in the provider's words."""
    return Refused(400, "invalid_request_error", message)


def table(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under `key`, empty when there is none; `Refused` when it is something else."""
    value = body.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise invalid(f"{key}: Input should be a valid dictionary")
    return value or {}


def check_access(incoming: Incoming) -> None:
    """`Refused` when the key or the version of the API is missing or unknown."""
    key = key_of(incoming)
    if not key or (incoming.scenario.keys and key not in incoming.scenario.keys):
        raise Refused(401, "authentication_error", "invalid x-api-key")
    version = incoming.headers.get("anthropic-version")
    if version is None:
        raise invalid("anthropic-version: header is required")
    if version not in VERSIONS:
        raise invalid(f"anthropic-version: {version!r} is not a valid version")


def key_of(incoming: Incoming) -> str:
    """The caller's key, in either header; empty when there is none."""
    return incoming.headers.get("x-api-key") or incoming.headers.get("authorization", "").removeprefix("Bearer ")


def model_of(incoming: Incoming) -> tuple[str, Model]:
    """The model's name and what it is like; `Refused` with 404 when there is none of that name."""
    name = required(incoming.body, "model", str)
    model = incoming.scenario.model(name)
    if model is None or not name.startswith("claude-"):
        raise Refused(404, "not_found_error", f"model: {name}")
    return name, model


def required(body: Mapping[str, Any], key: str, kind: type) -> Any:
    """The value under `key`; `Refused` when it is missing or of another type."""
    value = body.get(key)
    if value is None:
        raise invalid(f"{key}: Field required")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise invalid(f"{key}: Input should be a valid {'string' if kind is str else 'integer'}")
    return value


def check_version(incoming: Incoming, blocks: list[Block]) -> None:
    """What the newer version of the API no longer takes."""
    if incoming.headers["anthropic-version"] == VERSIONS[0]:
        return
    for key in ("temperature", "top_p", "top_k"):
        if incoming.body.get(key) is not None:
            raise invalid(f"{key}: Extra inputs are not permitted in this version of the API")
    for place, block in blocks:
        if place == "assistant" and block.get("type") == "document":
            raise invalid("messages: document blocks are not permitted in assistant messages")
        if place == "user" and block.get("type") == "text" and block.get("citations"):
            raise invalid("messages: citations are not permitted on user text")


def schema_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON schema of a structured output, None without; `Refused` when the provider would not compile it."""
    form = table(table(body, "output_config"), "format")
    if not form:
        return None
    if form.get("type") != "json_schema" or not isinstance(form.get("schema"), Mapping):
        raise invalid("output_config.format: must be a json_schema with a schema")
    schema: Mapping[str, Any] = form["schema"]
    fault = anthropic_fault(schema)
    if fault:
        raise invalid(f"output_config.format.schema: {fault}")
    return schema


def blocks_of(body: Mapping[str, Any]) -> Iterator[Block]:
    """Every cacheable block in the order the cache sees them: tools, system, messages."""
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise invalid("tools: Input should be a valid list")
    yield from (("tools", tool) for tool in _content(tools, "tools"))
    yield from (("system", block) for block in _content(body.get("system") or [], "system"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise invalid("messages: at least one message is required")
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
            raise invalid(f"messages.{place}: must have the role user or assistant")
        yield from ((message["role"], block) for block in _content(message.get("content"), f"messages.{place}"))


def _content(content: Any, where: str) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list) or not all(isinstance(block, Mapping) for block in content):
        raise invalid(f"{where}: Input should be a valid string or a list of blocks")
    return content


def last_user_text(body: Mapping[str, Any]) -> str:
    """The text of the last message of the user."""
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            return "\n".join(str(block.get("text", "")) for block in _content(message["content"], "messages"))
    raise invalid("messages: first message must use the user role")


def stops_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts before which the answer ends."""
    stops = body.get("stop_sequences") or []
    if not isinstance(stops, list) or not all(isinstance(each, str) and each for each in stops):
        raise invalid("stop_sequences: Input should be a valid list of texts")
    return tuple(stops)


def prefilled(body: Mapping[str, Any], model: Model) -> str:
    """What the answer already begins with; `Refused` where the model cannot continue it."""
    last = body["messages"][-1]
    if last["role"] != "assistant":
        return ""
    if not model.prefill or table(body, "output_config").get("format"):
        raise invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    return "".join(str(block.get("text", "")) for block in _content(last["content"], "messages"))


def fingerprint_of(incoming: Incoming, blocks: list[Block]) -> Fingerprint:
    """What the cache goes by: the parameters that change the prompt, and every block up to each place."""
    body = incoming.body
    texts = [
        place.encode() + orjson.dumps({key: value for key, value in block.items() if key != "cache_control"})
        for place, block in blocks
    ]
    of_place = {
        wanted: b"".join(text for (place, _), text in zip(blocks, texts, strict=True) if place == wanted)
        for wanted in ("tools", "system")
    }
    others = orjson.dumps([body.get("output_config"), body.get("thinking"), body.get("tool_choice")])
    parameters: dict[str, object] = {
        "model_changed": (body["model"], body.get("speed")),
        "tools_changed": hash(of_place["tools"]),
        "system_changed": hash(of_place["system"]),
        "unavailable": others,
    }
    root = [key_of(incoming).encode(), orjson.dumps([body["model"], body.get("speed")]), others]
    return Fingerprint(parameters=parameters, prefix=_prefix(root, texts, _lifetimes(body, blocks)))


def _prefix(root: list[bytes], texts: list[bytes], lifetimes: list[float | None]) -> Prefix:
    links = keyed(root, b"".join(texts), accumulate(len(text) for text in texts))
    readable = {
        place
        for mark, lifetime in enumerate(lifetimes)
        if lifetime is not None
        for place in range(max(0, mark - LOOK_BACK_BLOCKS), mark + 1)
    }
    positions = tuple(
        Position(key=key, tokens=tokens, is_read=place in readable, lifetime=lifetimes[place])
        for place, (key, tokens) in enumerate(links)
    )
    return Prefix(positions=positions, total_tokens=links[-1][1], digest=links[-1][0])


def _lifetimes(body: Mapping[str, Any], blocks: list[Block]) -> list[float | None]:
    """For each block how long the prefix up to it is kept; None when it is not."""
    lifetimes = [_lifetime(block) for _, block in blocks]
    explicit = sum(each is not None for each in lifetimes)
    if explicit > MOST_BREAKPOINTS:
        raise invalid(f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {explicit}.")
    if body.get("cache_control"):
        if explicit == MOST_BREAKPOINTS:
            raise invalid("cache_control: automatic caching needs one of the 4 breakpoints, and all are taken")
        lifetimes[-1] = _lifetime(body)
    kept = [each for each in lifetimes if each is not None]
    if kept != sorted(kept, reverse=True):
        raise invalid("cache_control: a ttl='1h' block must not come after a ttl='5m' block")
    return lifetimes


def _lifetime(block: Mapping[str, Any]) -> float | None:
    control = table(block, "cache_control")
    if not control:
        return None
    if control.get("type") != "ephemeral" or control.get("ttl", "5m") not in LIFETIMES:
        raise invalid("cache_control: must be ephemeral with a ttl of 5m or 1h")
    return LIFETIMES[control.get("ttl", "5m")]
