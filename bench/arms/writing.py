"""One call of a model through the official SDK: whole, or item by item as it is written.

Decides when an item counts as there. Refuses to know where prompts come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anthropic
import orjson

from bench.arms import models
from bench.arms.items import ItemScanner, Validity
from bench.arms.measured import Stopwatch
from bench.arms.prompting import Prompt


async def write(
    client: anthropic.AsyncAnthropic,
    prompt: Prompt,
    *,
    tier: str,
    price: Mapping[str, float],
    streamed: bool,
    watch: Stopwatch,
    begun: Callable[[], None] = lambda: None,
) -> None:
    """Asks once and tells `watch` of tokens, of each valid item and of what it cost; `begun` when the response has
    begun. What the SDK raises passes through."""
    arguments: dict[str, Any] = {
        "model": models.MODELS[tier],
        "max_tokens": prompt.max_tokens,
        "system": prompt.system,
        "messages": [{"role": "user", "content": prompt.message}],
        "output_config": {"format": {"type": "json_schema", "schema": prompt.schema}},
    }
    validity = Validity(prompt.item_schema, prompt.known)
    watch.mark("asked")
    if streamed:
        await _streamed(client, arguments, validity, tier, price, watch, begun)
    else:
        await _whole(client, arguments, validity, tier, price, watch, begun)


async def _whole(
    client: anthropic.AsyncAnthropic,
    arguments: dict[str, Any],
    validity: Validity,
    tier: str,
    price: Mapping[str, float],
    watch: Stopwatch,
    begun: Callable[[], None],
) -> None:
    message = await client.messages.create(**arguments)
    begun()
    watch.token()
    text = "".join(block.text for block in message.content if block.type == "text")
    for item in orjson.loads(text)["items"]:
        if validity.accepts(item):
            watch.item(tier)
    watch.spend(models.used(message.usage, price))


async def _streamed(
    client: anthropic.AsyncAnthropic,
    arguments: dict[str, Any],
    validity: Validity,
    tier: str,
    price: Mapping[str, float],
    watch: Stopwatch,
    begun: Callable[[], None],
) -> None:
    scanner = ItemScanner()
    usage: anthropic.types.Usage | None = None
    async with await client.messages.create(**arguments, stream=True) as events:
        async for event in events:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                watch.token()
                for item in scanner.feed(event.delta.text):
                    if validity.accepts(item):
                        watch.item(tier)
            elif event.type == "message_start":
                begun()
                usage = event.message.usage
            elif event.type == "message_delta" and usage is not None:
                usage.output_tokens = event.usage.output_tokens
    if usage is not None:
        watch.spend(models.used(usage, price))
