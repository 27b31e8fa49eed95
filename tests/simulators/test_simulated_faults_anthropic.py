from __future__ import annotations

import asyncio
import json
import time
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import httpx2
import pytest
from simulated_asks import ITEM_SCHEMA, PROMPT

FORM: dict[str, Any] = {"format": {"type": "json_schema", "schema": ITEM_SCHEMA}}


async def ask(client: anthropic.AsyncAnthropic, simulate: str = "", **options: Any) -> Any:
    known: dict[str, Any] = {
        "model": "claude-sonnet-5",
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": PROMPT}],
        "extra_headers": {"x-simulate": simulate} if simulate else {},
    }
    return await client.messages.create(**{**known, **options})


async def streamed(client: anthropic.AsyncAnthropic, simulate: str = "", **options: Any) -> tuple[str, list[Any]]:
    """The text and the events of a stream, as far as they came."""
    events: list[Any] = []
    text = ""
    async for event in await ask(client, simulate, stream=True, **options):
        events.append(event)
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            text += event.delta.text
    return text, events


async def interrupted(
    client: anthropic.AsyncAnthropic, simulate: str, **options: Any
) -> tuple[list[str], BaseException]:
    """The tokens that came, and what ended the stream."""
    tokens: list[str] = []
    try:
        async for event in await ask(client, simulate, stream=True, **options):
            if event.type == "content_block_delta":
                tokens.append(event.delta.text)  # noqa: PERF401 - a comprehension would lose what came before the error
    except Exception as error:  # noqa: BLE001 - what it is is what the tests ask
        return tokens, error
    raise AssertionError("the stream ended as if nothing had happened")


@pytest.mark.parametrize(
    ("simulate", "kind", "name"),
    [
        ("overloaded", anthropic.APIStatusError, "overloaded_error"),
        ("rate_limited", anthropic.RateLimitError, "rate_limit_error"),
        ("unauthorized", anthropic.AuthenticationError, "authentication_error"),
        ("context_length", anthropic.BadRequestError, "invalid_request_error"),
        ("content_policy", anthropic.BadRequestError, "invalid_request_error"),
        ("error;status=500", anthropic.InternalServerError, "api_error"),
        ("error;status=503", anthropic.InternalServerError, "api_error"),
        ("error;status=504", anthropic.InternalServerError, "timeout_error"),
    ],
)
async def test_an_error_status_arrives_as_the_sdk_s_exception(zero, claude, simulate, kind, name):
    with pytest.raises(kind) as caught:
        await ask(claude(zero), simulate)
    assert caught.value.type == name
    assert zero.requests[-1].outcome == "refused"
    assert zero.requests[-1].status == caught.value.status_code
    assert zero.requests[-1].simulated == (simulate.partition(";")[0],)


async def test_an_overload_is_529(zero, claude):
    with pytest.raises(anthropic.APIStatusError) as caught:
        await ask(claude(zero), "overloaded")
    assert caught.value.status_code == 529
    assert "retry-after" not in caught.value.response.headers


@pytest.mark.parametrize(
    "code", ["ramp_limit_exceeded", "enforced_spend_limit_reached", "contract_spend_limit_reached"]
)
async def test_a_429_names_its_cause(zero, claude, code):
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(claude(zero), f"rate_limited;code={code}")
    assert caught.value.error_code == code
    assert type(caught.value).__name__.lower() == code.replace("_", "") + "error"


@pytest.mark.parametrize("seconds", [2, 61, 121])
async def test_retry_after_comes_in_every_form(zero, claude, seconds):
    async def headers(form: str) -> Any:
        with pytest.raises(anthropic.RateLimitError) as caught:
            await ask(claude(zero), f"rate_limited;retry_after={seconds};form={form}")
        return caught.value.response.headers

    assert (await headers("seconds"))["retry-after"] == str(seconds)
    assert (await headers("ms"))["retry-after-ms"] == str(seconds * 1000)
    instant = parsedate_to_datetime((await headers("date"))["retry-after"]).timestamp()
    assert instant - time.time() == pytest.approx(seconds, abs=2)


async def test_a_429_may_come_without_retry_after_and_say_whether_to_retry(zero, claude):
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(claude(zero), "rate_limited;should_retry=false")
    assert "retry-after" not in caught.value.response.headers
    assert caught.value.response.headers["x-should-retry"] == "false"


async def test_the_sdk_retries_a_429_that_occurs_once(zero, claude):
    message = await ask(claude(zero, max_retries=2), "rate_limited;retry_after=0.01;times=1;tag=once")
    assert message.stop_reason == "end_turn"
    assert [entry.status for entry in zero.requests] == [429, 200]
    assert zero.requests[1].headers["x-stainless-retry-count"] == "1"


async def test_retry_after_may_stand_on_a_success(zero, claude):
    response = await claude(zero).messages.with_raw_response.create(
        model="claude-sonnet-5",
        max_tokens=5,
        messages=[{"role": "user", "content": PROMPT}],
        extra_headers={"x-simulate": "retry_after_on_success;seconds=25"},
    )
    assert response.headers["retry-after"] == "25"
    assert (await response.parse()).content[0].text


@pytest.mark.parametrize("items", [0, 1, 2])
@pytest.mark.parametrize("kind", ["overloaded", "rate_limit", "server"])
async def test_an_error_inside_a_200_stream_has_a_type_but_no_status_of_its_own(zero, claude, items, kind):
    tokens, error = await interrupted(claude(zero), f"error_in_stream;items={items};kind={kind}")
    assert type(error) is anthropic.APIStatusError
    assert error.status_code == 200
    expected = {"overloaded": "overloaded_error", "rate_limit": "rate_limit_error", "server": "api_error"}
    assert error.type == expected[kind]
    assert [json.loads(line)["sources"] for line in "".join(tokens).splitlines()] == [["r1"], ["r3"]][:items]


@pytest.mark.parametrize(
    "simulate",
    [
        "crlf",
        "comments;seconds=0.001",
        "unknown_events;every=1",
        "pings;seconds=0.001",
        "split_bytes;size=1",
        "split_bytes;size=7",
        "split_tokens;characters=1",
        "crlf, split_bytes;size=3, unknown_events, comments",
    ],
)
async def test_what_means_nothing_changes_nothing(zero, claude, simulate):
    client = claude(zero)
    plain, _ = await streamed(client, output_config=FORM)
    text, events = await streamed(client, simulate, output_config=FORM)
    assert text == plain
    assert events[-1].type == "message_stop"


async def test_an_unknown_event_reaches_the_caller_as_it_is(zero, claude):
    _, events = await streamed(claude(zero), "unknown_events;every=5")
    assert "content_block_annotated" in [event.type for event in events]


async def test_pings_come_while_nothing_else_does(zero, claude):
    async with claude(zero).messages.with_streaming_response.create(
        model="claude-sonnet-5",
        max_tokens=2000,
        stream=True,
        messages=[{"role": "user", "content": PROMPT}],
        extra_headers={"x-simulate": "stall;tokens=10;seconds=0.2, pings;seconds=0.02"},
    ) as response:
        lines = [line async for line in response.iter_lines()]
    pings = [place for place, line in enumerate(lines) if line == "event: ping"]
    assert len(pings) >= 8
    assert pings[5] - pings[4] == 3


async def test_items_survive_every_way_a_model_writes_json(zero, claude):
    client = claude(zero)
    plain, _ = await streamed(client, output_config=FORM)
    escaped, _ = await streamed(client, "unicode_escapes, split_tokens;characters=2", output_config=FORM)
    assert escaped.isascii()
    assert "\\u" in escaped
    assert json.loads(escaped) == json.loads(plain)
    awkward, _ = await streamed(client, "awkward_text, unicode_escapes", output_config=FORM)
    assert '"{[it' in json.loads(awkward)["items"][0]["body"]


async def test_a_fence_prose_and_a_trailing_comma_surround_the_items(zero, claude):
    client = claude(zero)
    plain, _ = await streamed(client, output_config=FORM)
    fenced, _ = await streamed(client, "code_fence", output_config=FORM)
    assert fenced == f"```json\n{plain}\n```"
    prose, _ = await streamed(client, "prose, code_fence", output_config=FORM)
    assert fenced in prose
    assert not prose.startswith("```")
    comma, _ = await streamed(client, "trailing_comma", output_config=FORM)
    assert comma == plain[:-2] + ",]}"


async def test_sources_may_be_wrong_missing_or_repeated(zero, claude):
    client = claude(zero)

    async def sources(simulate: str) -> list[Any]:
        text, _ = await streamed(client, simulate, output_config=FORM)
        return [item["sources"] for item in json.loads(text)["items"]]

    assert await sources("unknown_sources;items=2") == [["no-such-record"], ["no-such-record"], ["r4"]]
    assert await sources("no_sources") == [[], ["r3"], ["r4"]]
    assert await sources("repeated_items") == [["r1"], ["r1"], ["r3"], ["r4"]]


async def test_a_truncated_answer_ends_as_if_max_tokens_had_been_reached(zero, claude):
    _, events = await streamed(claude(zero), "truncated;tokens=40")
    assert events[-2].delta.stop_reason == "max_tokens"
    assert events[-2].usage.output_tokens == 40


async def test_a_refusal_has_a_stop_reason_and_details(zero, claude):
    _, events = await streamed(claude(zero), "refusal;tokens=3")
    assert events[-2].delta.stop_reason == "refusal"
    assert events[-2].delta.stop_details.category == "general_harms"
    message = await ask(claude(zero), "refusal;tokens=3")
    assert message.stop_reason == "refusal"


async def test_thinking_comes_in_a_block_before_the_text(zero, claude):
    plain, _ = await streamed(claude(zero))
    text, events = await streamed(claude(zero), "thinking;tokens=30")
    starts = [event.content_block.type for event in events if event.type == "content_block_start"]
    assert starts == ["thinking", "text"]
    assert text == plain
    assert {
        event.index for event in events if event.type == "content_block_delta" and event.delta.type == "text_delta"
    } == {1}
    assert events[-2].usage.output_tokens_details.thinking_tokens == 30


async def test_an_event_that_is_not_json_breaks_the_sdk_s_stream_at_its_place(zero, claude):
    tokens, error = await interrupted(claude(zero), "malformed_event;nth=10")
    assert len(tokens) == 9
    assert isinstance(error, json.JSONDecodeError)


async def test_a_missing_end_marker_leaves_the_stream_complete_but_for_it(zero, claude):
    text, events = await streamed(claude(zero), "no_end_marker")
    assert events[-1].type == "message_delta"
    assert len(text.splitlines()) == 3


async def test_a_connection_reset_before_the_headers_is_a_connection_error(zero, claude):
    with pytest.raises(anthropic.APIConnectionError):
        await ask(claude(zero), "reset")
    assert zero.requests[-1].outcome == "faulted"
    assert zero.requests[-1].output_tokens == 0
    assert (await ask(claude(zero))).stop_reason == "end_turn"


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_a_connection_broken_in_the_middle_loses_the_rest(zero, claude, how):
    tokens, error = await interrupted(claude(zero), f"{how};tokens=40")
    assert isinstance(error, httpx2.TransportError)
    assert len(tokens) <= 40
    assert zero.requests[-1].outcome == "faulted"
    assert zero.requests[-1].output_tokens == 40


async def test_a_closed_connection_delivers_what_came_before(zero, claude):
    tokens, _ = await interrupted(claude(zero), "close;items=2")
    assert 40 < len(tokens) == zero.requests[-1].output_tokens


async def test_who_waits_for_an_answer_that_never_comes_gives_up_and_is_seen_to(zero, claude):
    with pytest.raises(anthropic.APITimeoutError):
        await ask(claude(zero, timeout=0.2), "never_answers;seconds=60")
    await zero.until(lambda requests: requests[-1].ended is not None)
    assert zero.requests[-1].outcome == "disconnected"


async def test_slow_headers_keep_everything_back(zero, claude):
    with pytest.raises(anthropic.APITimeoutError):
        await ask(claude(zero, timeout=0.2), "slow_headers;seconds=30", stream=True)


async def test_a_slow_first_token_lets_the_headers_through(zero, claude):
    stream = await asyncio.wait_for(ask(claude(zero), "slow_first_token;seconds=30", stream=True), 5)
    assert (await stream.__anext__()).type == "message_start"
    assert (await stream.__anext__()).type == "content_block_start"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stream.__anext__(), 0.2)
    await stream.close()
    await zero.until(lambda requests: requests[-1].ended is not None)
    assert zero.requests[-1].output_tokens == 0


async def test_a_stall_comes_after_so_many_tokens(zero, claude):
    tokens, error = await interrupted(claude(zero, timeout=0.5), "stall;tokens=7;seconds=30")
    assert isinstance(error, httpx2.ReadTimeout)
    await zero.until(lambda requests: requests[-1].ended is not None)
    assert len(tokens) == zero.requests[-1].output_tokens == 7


async def test_a_slow_drip_spaces_every_token(zero, claude):
    began = time.monotonic()
    async for _ in await ask(claude(zero), "slow_drip;seconds=0.02", stream=True, max_tokens=11):
        pass
    assert time.monotonic() - began >= 0.2


async def test_a_body_cut_short_cannot_be_parsed(zero, claude):
    with pytest.raises(json.JSONDecodeError):
        await ask(claude(zero), "malformed_body")


async def test_an_unknown_fault_is_refused_with_those_that_exist(zero, claude):
    with pytest.raises(anthropic.BadRequestError, match=r"x-simulate.*'surprise'.*overloaded"):
        await ask(claude(zero), "surprise")
    with pytest.raises(anthropic.BadRequestError, match="no parameter minutes"):
        await ask(claude(zero), "stall;minutes=1")
    with pytest.raises(anthropic.BadRequestError, match="must be a number"):
        await ask(claude(zero), "stall;seconds=long")


class TestWhatTheNewerApiRefuses:
    @pytest.mark.parametrize("sampling", [{"temperature": 0.5}, {"top_p": 0.9}, {"top_k": 5}])
    async def test_sampling_parameters(self, zero, claude, sampling):
        with pytest.raises(anthropic.BadRequestError, match=next(iter(sampling))):
            await ask(claude(zero), extra_body=sampling)

    async def test_but_the_older_version_takes_them(self, zero, claude):
        headers = {"anthropic-version": "2023-06-01"}
        assert await ask(claude(zero), extra_body={"temperature": 0.5}, extra_headers=headers)

    async def test_an_unknown_version(self, zero, claude):
        with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
            await ask(claude(zero), extra_headers={"anthropic-version": "2031-01-01"})

    async def test_prefill_on_models_that_do_not_support_it(self, zero, claude):
        messages = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": '{"sources":'}]
        with pytest.raises(anthropic.BadRequestError, match="prefill"):
            await ask(claude(zero), messages=messages)
        continued = await ask(claude(zero), messages=messages, model="claude-haiku-4-5")
        assert json.loads('{"sources":' + continued.content[0].text.splitlines()[0])["sources"] == ["r1"]

    async def test_a_document_in_an_assistant_message(self, zero, claude):
        document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
        messages = [{"role": "assistant", "content": [document]}, {"role": "user", "content": PROMPT}]
        with pytest.raises(anthropic.BadRequestError, match="document"):
            await ask(claude(zero), messages=messages)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"additionalProperties": True}, "additionalProperties"),
            ({"properties": {"items": {"type": "string", "minLength": 3}}}, "minLength"),
            ({"properties": {"items": {"$ref": "#"}}}, "recursive"),
        ],
    )
    async def test_schemas_it_cannot_compile(self, zero, claude, change, words):
        form = {"format": {"type": "json_schema", "schema": {**ITEM_SCHEMA, **change}}}
        with pytest.raises(anthropic.BadRequestError, match=words):
            await ask(claude(zero), output_config=form)

    async def test_a_prompt_longer_than_the_model_s_context(self, zero, claude):
        with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: 2.* tokens > 200000 maximum"):
            await ask(claude(zero), messages=[{"role": "user", "content": "word " * 170_000}])


async def test_a_stop_sequence_ends_the_answer_before_itself(zero, claude):
    message = await ask(claude(zero), stop_sequences=["\n"])
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "\n")
    assert json.loads(message.content[0].text)["sources"] == ["r1"]
