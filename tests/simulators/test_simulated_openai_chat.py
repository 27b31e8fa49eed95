from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from simulated_asks import ITEM_SCHEMA, PROMPT

FORM: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "items", "schema": ITEM_SCHEMA, "strict": True}}
LONG = "A guide that never changes. " * 200


async def ask(client: openai.AsyncOpenAI, **options: Any) -> Any:
    known: dict[str, Any] = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": PROMPT}]}
    return await client.chat.completions.create(**{**known, **options})


async def test_a_stream_holds_the_items_and_ends_with_the_usage(zero, gpt):
    chunks = [
        chunk
        async for chunk in await ask(
            gpt(zero), stream=True, stream_options={"include_usage": True}, response_format=FORM
        )
    ]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert [item["sources"] for item in json.loads(text)["items"]] == [["r1"], ["r3"], ["r4"]]
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == zero.requests[-1].output_tokens > 60
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[0].choices[0].delta.role == "assistant"


async def test_without_being_asked_for_there_is_no_usage_in_the_stream(zero, gpt):
    chunks = [chunk async for chunk in await ask(gpt(zero), stream=True)]
    assert all(chunk.usage is None for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"


async def test_streamed_or_not_the_answer_is_the_same(zero, gpt):
    client = gpt(zero)
    whole = await ask(client)
    streamed = [chunk.choices[0].delta.content or "" async for chunk in await ask(client, stream=True)]
    assert "".join(streamed) == whole.choices[0].message.content
    assert len([json.loads(line) for line in whole.choices[0].message.content.splitlines()]) == 3


async def test_the_limit_cuts_the_answer_and_says_so(zero, gpt):
    whole = await ask(gpt(zero), max_completion_tokens=10)
    assert (whole.choices[0].finish_reason, whole.usage.completion_tokens) == ("length", 10)


async def test_a_long_prefix_is_cached_by_itself_under_its_key(zero, gpt):
    client = gpt(zero)

    async def cached(question: str, key: str) -> int:
        messages = [{"role": "system", "content": LONG}, {"role": "user", "content": question}]
        answer = await ask(client, messages=messages, prompt_cache_key=key)
        return answer.usage.prompt_tokens_details.cached_tokens

    assert await cached("one", "a") == 0
    hit = await cached("two", "a")
    assert hit >= 1024
    assert hit % 128 == 0
    assert await cached("three", "b") == 0


async def test_a_short_prompt_is_never_cached(zero, gpt):
    client = gpt(zero)
    await ask(client)
    assert (await ask(client)).usage.prompt_tokens_details.cached_tokens == 0


async def test_a_caller_who_leaves_is_noticed(start, gpt):
    slow = await start("default", seed=3)
    stream = await ask(gpt(slow), stream=True)
    await stream.__anext__()
    await stream.close()
    await slow.until(lambda requests: requests[-1].ended is not None, within=2.0)
    assert slow.requests[-1].outcome == "disconnected"
    assert slow.requests[-1].output_tokens < 60


async def test_an_unknown_model_is_not_found(zero, gpt):
    with pytest.raises(openai.NotFoundError) as caught:
        await ask(gpt(zero), model="nonexistent")
    assert caught.value.code == "model_not_found"


async def test_no_messages_are_refused(zero, gpt):
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(gpt(zero), messages=[])
    assert caught.value.param == "messages"
