from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from simulated_asks import ITEM_SCHEMA, PROMPT

FORM: dict[str, Any] = {"format": {"type": "json_schema", "name": "items", "schema": ITEM_SCHEMA, "strict": True}}
LONG = "A guide that never changes. " * 200


async def ask(client: openai.AsyncOpenAI, **options: Any) -> Any:
    return await client.responses.create(**{"model": "gpt-6-sol", "input": PROMPT, "store": False, **options})


async def test_the_events_come_in_the_provider_s_order_numbered_without_a_gap(zero, gpt):
    events = [event async for event in await ask(gpt(zero), stream=True, text=FORM)]
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert set(kinds[4:-4]) == {"response.output_text.delta"}
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_the_deltas_the_done_event_and_the_response_hold_the_same_items(zero, gpt):
    events = [event async for event in await ask(gpt(zero), stream=True, text=FORM)]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    done = next(event for event in events if event.type == "response.output_text.done")
    response = events[-1].response
    assert text == done.text == response.output_text
    assert [item["sources"] for item in json.loads(text)["items"]] == [["r1"], ["r3"], ["r4"]]
    assert response.usage.output_tokens == zero.requests[-1].output_tokens > 60
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    assert response.store is False
    assert response.status == "completed"


async def test_streamed_or_not_the_answer_is_the_same(zero, gpt):
    client = gpt(zero)
    whole = await ask(client)
    streamed = [event async for event in await ask(client, stream=True)]
    assert whole.output_text == streamed[-1].response.output_text


async def test_the_sdk_s_own_accumulation_agrees(zero, gpt):
    async with gpt(zero).responses.stream(model="gpt-6-sol", input=PROMPT) as stream:
        async for _ in stream:
            pass
        response = await stream.get_final_response()
    assert len(response.output_text.splitlines()) == 3


async def test_the_limit_makes_the_response_incomplete_and_says_why(zero, gpt):
    events = [event async for event in await ask(gpt(zero), stream=True, max_output_tokens=16)]
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.incomplete_details.reason == "max_output_tokens"
    assert events[-1].response.usage.output_tokens == 16


async def test_a_limit_under_sixteen_is_refused(zero, gpt):
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(gpt(zero), max_output_tokens=15)
    assert caught.value.param == "max_output_tokens"


async def test_prewarming_fills_the_cache_and_writes_nothing(zero, gpt):
    client = gpt(zero)
    warm = await ask(client, instructions=LONG, input="warm up", prompt_cache_options={"prewarm": True})
    assert warm.output == []
    assert warm.usage.output_tokens == 0
    assert warm.usage.input_tokens_details.cache_write_tokens >= 1024
    real = await ask(client, instructions=LONG)
    assert real.usage.input_tokens_details.cached_tokens >= 1024


async def test_a_longer_lifetime_is_counted_apart(zero, gpt):
    usage = (await ask(gpt(zero), instructions=LONG, prompt_cache_options={"ttl": "12h"})).usage
    details = usage.input_tokens_details
    assert details.cache_write_tokens_details.ttl_12h_tokens == details.cache_write_tokens >= 1024
    assert details.cache_write_tokens_details.ttl_30m_tokens == 0


async def diagnosed(client: openai.AsyncOpenAI, earlier: str, **options: Any) -> Any:
    asked = {"instructions": LONG, "prompt_cache_options": {"comparison_response_id": earlier}, **options}
    return (await ask(client, **asked)).prompt_cache_diagnostics


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "gpt-6.1-sol"}, "model_changed"),
        ({"prompt_cache_key": "b"}, "prompt_cache_key_changed"),
        ({"text": FORM}, "text_format_changed"),
        ({"reasoning": {"effort": "low"}}, "reasoning_effort_changed"),
        ({"text": {"verbosity": "low"}}, "verbosity_changed"),
        ({"service_tier": "priority"}, "service_tier_changed"),
        ({"instructions": "!" + LONG}, "input_changed"),
    ],
)
async def test_what_lost_the_cache_is_named(zero, gpt, change, reason):
    client = gpt(zero)
    earlier = (await ask(client, instructions=LONG)).id
    miss = await diagnosed(client, earlier, **change)
    assert (miss.type, miss.reason) == ("cache_miss", reason)
    assert miss.cache_missed_tokens > 1024


async def test_a_hit_and_an_unknown_comparison_are_named_too(zero, gpt):
    client = gpt(zero)
    earlier = (await ask(client, instructions=LONG)).id
    assert (await diagnosed(client, earlier)).type == "cache_hit"
    assert (await diagnosed(client, "resp_unknown")).type == "comparison_response_not_found"


@pytest.mark.parametrize(("shape", "kind"), [("event", "error"), ("failed", "response.failed")])
async def test_an_error_inside_the_stream_is_handed_out_as_an_event(zero, gpt, shape, kind):
    headers = {"x-simulate": f"error_in_stream;items=1;shape={shape}"}
    events = [event async for event in await ask(gpt(zero), stream=True, extra_headers=headers)]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert len(text.splitlines()) == 1
    assert events[-1].type == kind
    error = events[-1] if kind == "error" else events[-1].response.error
    assert error.code == "server_is_overloaded"


async def test_an_error_with_a_key_of_that_name_is_raised_without_a_status(zero, gpt):
    headers = {"x-simulate": "error_in_stream;items=1;shape=nested"}
    stream = await ask(gpt(zero), stream=True, extra_headers=headers)
    with pytest.raises(openai.APIError) as caught:
        async for _ in stream:
            pass
    assert not isinstance(caught.value, openai.APIStatusError)
    assert caught.value.code == "server_is_overloaded"


async def test_a_refusal_is_a_part_of_its_own(zero, gpt):
    events = [event async for event in await ask(gpt(zero), stream=True, extra_headers={"x-simulate": "refusal"})]
    assert "response.refusal.done" in [event.type for event in events]
    assert events[-1].response.output[0].content[0].type == "refusal"


async def test_reasoning_comes_as_an_item_before_the_message(zero, gpt):
    headers = {"x-simulate": "thinking;tokens=30"}
    events = [event async for event in await ask(gpt(zero), stream=True, extra_headers=headers)]
    response = events[-1].response
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert response.usage.output_tokens_details.reasoning_tokens == 30
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    assert {event.output_index for event in deltas} == {1}
    assert response.usage.output_tokens == len(deltas) + 30
