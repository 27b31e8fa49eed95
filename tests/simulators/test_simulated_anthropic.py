from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import pytest
from simulated_asks import ITEM_SCHEMA, PROMPT

FORM: dict[str, Any] = {"format": {"type": "json_schema", "schema": ITEM_SCHEMA}}
LONG = "A guide that never changes. " * 200


async def ask(client: anthropic.AsyncAnthropic, **options: Any) -> anthropic.types.Message:
    known: dict[str, Any] = {
        "model": "claude-sonnet-5",
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": PROMPT}],
    }
    return await client.messages.create(**{**known, **options})


async def test_a_stream_holds_the_items_that_were_asked_for_and_nothing_else(zero, claude):
    async with claude(zero).messages.stream(
        model="claude-sonnet-5", max_tokens=2000, messages=[{"role": "user", "content": PROMPT}], output_config=FORM
    ) as stream:
        text = "".join([piece async for piece in stream.text_stream])
        message = await stream.get_final_message()
    items = json.loads(text)["items"]
    assert [item["sources"] for item in items] == [["r1"], ["r3"], ["r4"]]
    assert all(list(item) == ["sources", "title", "body", "reason"] for item in items)
    assert items[0]["title"] == "성산일출봉"
    assert "성산일출봉" in items[0]["body"]
    assert message.stop_reason == "end_turn"
    assert message.usage.output_tokens == zero.requests[-1].output_tokens > 60
    assert message.usage.input_tokens == zero.requests[-1].input_tokens > 50


async def test_without_a_schema_the_items_are_lines(zero, claude):
    message = await ask(claude(zero))
    lines = [json.loads(line) for line in message.content[0].text.splitlines()]
    assert [line["sources"] for line in lines] == [["r1"], ["r3"], ["r4"]]


async def test_streamed_or_not_the_answer_is_the_same(zero, claude):
    client = claude(zero)
    whole = await ask(client, output_config=FORM)
    pieces = [
        event.delta.text
        async for event in await ask(client, output_config=FORM, stream=True)
        if event.type == "content_block_delta"
    ]
    assert "".join(pieces) == whole.content[0].text
    assert len(pieces) == whole.usage.output_tokens


async def test_the_events_come_in_the_provider_s_order(zero, claude):
    kinds = [event.type async for event in await ask(claude(zero), stream=True)]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]


async def test_max_tokens_cuts_the_answer_and_says_so(zero, claude):
    message = await ask(claude(zero), max_tokens=10)
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 10)


async def test_a_prefix_up_to_a_breakpoint_is_written_once_and_then_read(zero, claude):
    client = claude(zero)
    system = [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}]
    first = (await ask(client, system=system)).usage
    second = (await ask(client, system=system, messages=[{"role": "user", "content": "else"}])).usage
    changed = (await ask(client, system=[{**system[0], "text": LONG + "!"}])).usage
    assert first.cache_read_input_tokens == 0
    assert first.cache_creation_input_tokens == second.cache_read_input_tokens > 1024
    assert second.cache_creation_input_tokens == 0
    assert changed.cache_read_input_tokens == 0


async def test_a_caller_who_leaves_is_noticed_with_the_tokens_billed_until_then(start, claude):
    slow = await start("default", seed=3)
    seen = 0
    stream = await ask(claude(slow), stream=True)
    async for event in stream:
        seen += event.type == "content_block_delta"
        if seen == 5:
            break
    await stream.close()
    await slow.until(lambda requests: requests[-1].ended is not None, within=2.0)
    entry = slow.requests[-1]
    assert entry.outcome == "disconnected"
    assert 5 <= entry.output_tokens < 60


@pytest.mark.parametrize("key", ["model", "max_tokens", "messages"])
async def test_a_request_without_what_is_required_is_refused_in_the_provider_s_words(zero, claude, key):
    with pytest.raises(anthropic.BadRequestError) as caught:
        await ask(claude(zero), **{key: None if key != "messages" else []})
    assert caught.value.type == "invalid_request_error"
    assert key in str(caught.value.api_message)
    assert caught.value.request_id


async def test_an_unknown_model_is_not_found(zero, claude):
    with pytest.raises(anthropic.NotFoundError):
        await ask(claude(zero), model="claude")


async def test_the_same_seed_gives_the_same_times_whatever_the_order(start, claude):
    async def first_token_times(order: list[str]) -> dict[str, float]:
        simulation = await start("default", seed=9)
        client = claude(simulation)
        await ask(client, max_tokens=0)
        for text in order:
            await ask(client, max_tokens=1, messages=[{"role": "user", "content": text}])
        return {
            entry.body["messages"][0]["content"]: entry.first_token - entry.began for entry in simulation.requests[1:]
        }

    one, other = await asyncio.gather(first_token_times(["a", "b"]), first_token_times(["b", "a"]))
    assert one["a"] == pytest.approx(other["a"], abs=0.03)
    assert one["b"] == pytest.approx(other["b"], abs=0.03)
    assert abs(one["a"] - one["b"]) > 0.03
