"""Decides what OpenAI's two endpoints share: keys, models, errors, headers, and how a prompt is cut for the prompt
cache.

Refuses to know either endpoint's events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from simulators.prompt_cache import Position, Prefix, in_steps
from simulators.scenario import Model
from simulators.tokens import BYTES_PER_TOKEN, count
from simulators.turn import Incoming, Refused, Usage

LIFETIME = 1_800.0
STEP_TOKENS = 128
LEAST_TOKENS = 1_024


def invalid(message: str, param: str | None, code: str | None = None) -> Refused:
    """A 400 in the provider's words."""
    return Refused(400, "invalid_request_error", message, param=param, code=code)


def check_key(incoming: Incoming) -> None:
    """`Refused` with 401 when the key is missing or not one of the scenario's."""
    key = key_of(incoming)
    if not key or (incoming.scenario.keys and key not in incoming.scenario.keys):
        raise Refused(401, "invalid_request_error", "Incorrect API key provided.", code="invalid_api_key")


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


def limit_of(body: Mapping[str, Any], *keys: str) -> int | None:
    """The largest number of output tokens, by the first of `keys` that is there."""
    for key in keys:
        value = body.get(key)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise invalid(f"Invalid '{key}': integer below minimum value. Expected a value >= 1.", key)
            return value
    return None


def text_of(content: Any) -> str:
    """The text of a message's content, whichever of the accepted shapes it has."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def last_user_text(messages: Iterable[Any]) -> str:
    """The text of the last message whose role is user, empty when there is none."""
    for message in reversed(list(messages)):
        if isinstance(message, Mapping) and message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def prefix_of(incoming: Incoming, parameters: list[Any], content: Any) -> Prefix:
    """The prompt as the cache sees it: kept in steps of 128 tokens from 1,024 on, apart for each `prompt_cache_key`
    and each
    value of the parameters that change what the model is given."""
    body = incoming.body
    root = [key_of(incoming).encode(), orjson.dumps([body.get("prompt_cache_key"), *parameters])]
    text = orjson.dumps(content)
    links = in_steps(root, text, step_tokens=STEP_TOKENS, step_bytes=STEP_TOKENS * BYTES_PER_TOKEN)
    positions = tuple(
        Position(key=key, tokens=tokens, lifetime=LIFETIME) for key, tokens in links if tokens >= LEAST_TOKENS
    )
    return Prefix(positions=positions, total_tokens=count(len(text)), digest=b"".join(root) + text)


def error_body(refused: Refused) -> dict[str, Any]:
    """The error as both endpoints write it."""
    return {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}


def response_headers(request_id: str, seconds: float) -> dict[str, str]:
    """The headers of every response."""
    return {
        "x-request-id": request_id,
        "openai-version": "2020-10-01",
        "openai-organization": "simulated",
        "openai-processing-ms": str(int(seconds * 1000)),
    }


def refusal_bytes(refused: Refused) -> bytes:
    """The body of an error status."""
    return orjson.dumps({"error": error_body(refused)})


def input_details(usage: Usage) -> dict[str, int]:
    """Cached tokens are part of the input tokens here, unlike at Anthropic."""
    return {"cached_tokens": usage.found.read_tokens, "cache_write_tokens": usage.found.all_written_tokens}
