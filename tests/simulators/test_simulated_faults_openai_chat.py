from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from simulated_asks import ITEM_SCHEMA, PROMPT

FORM: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "items", "schema": ITEM_SCHEMA, "strict": True}}


async def ask(client: openai.AsyncOpenAI, simulate: str = "", **options: Any) -> Any:
    known: dict[str, Any] = {
        "model": "gpt-6-sol",
        "messages": [{"role": "user", "content": PROMPT}],
        "extra_headers": {"x-simulate": simulate} if simulate else {},
    }
    return await client.chat.completions.create(**{**known, **options})


async def streamed(client: openai.AsyncOpenAI, simulate: str = "", **options: Any) -> tuple[str, list[Any]]:
    chunks = [chunk async for chunk in await ask(client, simulate, stream=True, **options)]
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), chunks


@pytest.mark.parametrize(
    ("simulate", "kind", "code"),
    [
        ("overloaded", openai.InternalServerError, "server_is_overloaded"),
        ("rate_limited", openai.RateLimitError, "rate_limit_exceeded"),
        ("rate_limited;code=insufficient_quota", openai.RateLimitError, "insufficient_quota"),
        ("unauthorized", openai.AuthenticationError, "invalid_api_key"),
        ("context_length", openai.BadRequestError, "context_length_exceeded"),
        ("content_policy", openai.BadRequestError, "content_policy_violation"),
        ("error;status=503", openai.InternalServerError, "server_is_overloaded"),
        ("error;status=500", openai.InternalServerError, None),
    ],
)
async def test_an_error_status_arrives_as_the_sdk_s_exception(zero, gpt, simulate, kind, code):
    with pytest.raises(kind) as caught:
        await ask(gpt(zero), simulate)
    assert caught.value.code == code
    assert zero.requests[-1].outcome == "refused"


async def test_retry_after_in_milliseconds_is_obeyed_by_the_sdk(zero, gpt):
    answer = await ask(gpt(zero, max_retries=2), "rate_limited;retry_after=0.01;form=ms;times=1")
    assert answer.choices[0].finish_reason == "stop"
    assert [entry.status for entry in zero.requests] == [429, 200]


async def test_a_retry_after_of_more_than_two_minutes_stops_the_sdk(zero, gpt):
    with pytest.raises(openai.RateLimitError):
        await ask(gpt(zero, max_retries=2), "rate_limited;retry_after=121")
    assert len(zero.requests) == 1


@pytest.mark.parametrize("shape", ["", "typed"])
@pytest.mark.parametrize("items", [0, 2])
async def test_an_error_inside_a_200_stream_is_raised_without_a_status(zero, gpt, shape, items):
    text, error = "", None
    try:
        async for chunk in await ask(gpt(zero), f"error_in_stream;items={items};shape={shape}", stream=True):
            text += chunk.choices[0].delta.content or ""
    except openai.APIError as caught:
        error = caught
    assert type(error) is openai.APIError
    assert (error.code, error.type) == ("server_is_overloaded", "service_unavailable_error")
    assert len(text.splitlines()) == items


@pytest.mark.parametrize(
    "simulate",
    ["crlf", "comments;seconds=0.001", "pings;seconds=0.001", "split_bytes;size=5", "split_tokens;characters=1"],
)
async def test_what_means_nothing_changes_nothing(zero, gpt, simulate):
    client = gpt(zero)
    plain, _ = await streamed(client, response_format=FORM)
    text, chunks = await streamed(client, simulate, response_format=FORM)
    assert text == plain
    assert chunks[-1].choices[0].finish_reason == "stop"


async def test_an_unknown_kind_of_chunk_reaches_the_caller_as_it_is(zero, gpt):
    _, chunks = await streamed(gpt(zero), "unknown_events;every=5")
    assert "chat.completion.annotation" in {chunk.object for chunk in chunks}


async def test_without_the_end_marker_the_stream_still_ends_with_its_usage(zero, gpt):
    text, chunks = await streamed(gpt(zero), "no_end_marker", stream_options={"include_usage": True})
    assert chunks[-1].usage.completion_tokens == zero.requests[-1].output_tokens
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_a_connection_broken_in_the_middle_is_a_connection_error(zero, gpt, how):
    with pytest.raises(openai.APIConnectionError):
        await streamed(gpt(zero), f"{how};tokens=40")
    assert (zero.requests[-1].outcome, zero.requests[-1].output_tokens) == ("faulted", 40)


async def test_a_stall_is_a_timeout_of_the_sdk_s(zero, gpt):
    with pytest.raises(openai.APITimeoutError):
        await streamed(gpt(zero, timeout=0.3), "stall;tokens=3;seconds=30")


async def test_an_event_that_is_not_json_breaks_the_sdk_s_stream(zero, gpt):
    with pytest.raises(json.JSONDecodeError):
        await streamed(gpt(zero), "malformed_event;nth=10")


async def test_a_truncated_answer_ends_as_if_the_limit_had_been_reached(zero, gpt):
    _, chunks = await streamed(gpt(zero), "truncated;tokens=40")
    assert chunks[-1].choices[0].finish_reason == "length"


async def test_a_refusal_has_a_field_of_its_own_and_content_may_be_filtered_halfway(zero, gpt):
    declined = (await ask(gpt(zero), "refusal")).choices[0]
    assert declined.message.content is None
    assert declined.message.refusal
    text, chunks = await streamed(gpt(zero), "refusal;tokens=5")
    assert text
    assert chunks[-1].choices[0].finish_reason == "content_filter"


async def test_reasoning_is_counted_but_not_shown(zero, gpt):
    client = gpt(zero)
    plain, _ = await streamed(client)
    text, chunks = await streamed(client, "thinking;tokens=30", stream_options={"include_usage": True})
    assert text == plain
    assert chunks[-1].usage.completion_tokens_details.reasoning_tokens == 30


async def test_padding_can_be_left_out(zero, gpt):
    async def size(**options: Any) -> int:
        client = gpt(zero)
        async with client.chat.completions.with_streaming_response.create(
            model="gpt-6-sol", stream=True, messages=[{"role": "user", "content": PROMPT}], **options
        ) as response:
            return len(b"".join([part async for part in response.iter_bytes()]))

    assert await size(stream_options={"include_obfuscation": False}) < await size()


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"additionalProperties": True}, "additionalProperties"),
            ({"required": []}, "required"),
            ({"type": "array"}, "object"),
        ],
    )
    async def test_schemas_that_are_not_strict(self, zero, gpt, change, words):
        form = {
            "type": "json_schema",
            "json_schema": {"name": "n", "strict": True, "schema": {**ITEM_SCHEMA, **change}},
        }
        with pytest.raises(openai.BadRequestError, match=words):
            await ask(gpt(zero), response_format=form)

    async def test_a_name_that_is_too_long(self, zero, gpt):
        form = {"type": "json_schema", "json_schema": {"name": "n" * 65, "schema": ITEM_SCHEMA}}
        with pytest.raises(openai.BadRequestError, match="name"):
            await ask(gpt(zero), response_format=form)

    async def test_cache_options_on_a_model_from_before_them(self, zero, gpt):
        with pytest.raises(openai.BadRequestError, match="prompt_cache_options"):
            await ask(gpt(zero), model="gpt-5.5", extra_body={"prompt_cache_options": {"mode": "explicit"}})

    async def test_a_call_without_a_key(self, zero, gpt):
        with pytest.raises(openai.AuthenticationError):
            await ask(gpt(zero), extra_headers={"authorization": ""})


async def test_json_without_a_schema_is_items_too(zero, gpt):
    text, _ = await streamed(gpt(zero), response_format={"type": "json_object"})
    assert len(json.loads(text)["items"]) == 3


async def test_a_stop_text_ends_the_answer_before_itself(zero, gpt):
    answer = await ask(gpt(zero), stop="\n")
    assert json.loads(answer.choices[0].message.content)["sources"] == ["r1"]


async def test_the_models_can_be_listed_to_warm_a_connection(zero, gpt, claude):
    assert "gpt-5.5" not in [model.id async for model in gpt(zero).models.list()]
    assert "claude-sonnet-5" in [model.id async for model in claude(zero).models.list()]
    assert zero.requests[-1].new_connection
