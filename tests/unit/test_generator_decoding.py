"""What servers say in their own ways means the same: texts, endings, usage and errors of every wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from headway.ledger import Usage
from services.generator.providers import wire
from services.generator.providers.anthropic import MessageEvents
from services.generator.providers.failures import of_event, of_response
from services.generator.providers.openai import ChunkEvents
from services.generator.providers.openai_responses import ResponseEvents
from services.generator.upstream import Ended, Failure, Piece, Started, Stop, UpstreamError

WIRES = {"messages": MessageEvents, "chat": ChunkEvents, "responses": ResponseEvents}


class Body:
    def __init__(self, body: bytes, content_type: str) -> None:
        self.body = body
        self.headers = {"content-type": content_type}

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        yield self.body


async def pieces(
    decoding: wire.Decoding, *events: Any, end: str = "", content_type: str = "text/event-stream; charset=utf-8"
) -> list[Piece]:
    """What a body of these events says, all of them in one read."""
    body: Any = Body(("".join(f"data: {json.dumps(event)}\n\n" for event in events) + end).encode(), content_type)
    return [piece async for piece in wire.pieces(body, decoding)]


def chunk(content: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}], **more}


STOP = chunk(finish="stop")


async def usage_of(told: Any, **more: Any) -> Usage | None:
    (ended,) = await pieces(ChunkEvents(), chunk(finish="stop", usage=told, **more))
    assert isinstance(ended, Ended)
    return ended.usage


async def test_content_may_be_parts_of_which_only_the_text_is_the_answer() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "A"}]
    said = await pieces(ChunkEvents(), chunk(parts), chunk([{"type": "reference", "ids": [1]}]), chunk("B"), STOP)
    assert said == ["AB", Ended(Stop.END, None)]


async def test_what_a_model_thinks_is_not_its_answer() -> None:
    thought = {"choices": [{"delta": {"reasoning_content": "hm", "reasoning": "hm", "content": None}}]}
    assert await pieces(ChunkEvents(), thought, chunk("A"), STOP) == ["A", Ended(Stop.END, None)]


async def test_an_answer_in_one_piece_of_json_is_an_answer() -> None:
    whole = {"object": "chat.completion", "choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]}
    body: Any = Body(json.dumps(whole, indent=1).encode(), "application/json")
    assert [piece async for piece in wire.pieces(body, ChunkEvents())] == ["all", Ended(Stop.END, None)]


@pytest.mark.parametrize("name", WIRES)
async def test_an_error_in_plain_json_is_named_though_its_status_was_good(name: str) -> None:
    body: Any = Body(b'{"error": {"type": "rate_limit_error", "message": "m"}}', "application/json; charset=utf-8")
    with pytest.raises(UpstreamError) as caught:
        [piece async for piece in wire.pieces(body, WIRES[name]())]
    assert caught.value.failure is Failure.RATE_LIMITED


@pytest.mark.parametrize("name", WIRES)
async def test_what_came_before_an_error_is_given_out_first(name: str) -> None:
    text = {
        "messages": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "A"}},
        "chat": chunk("A"),
        "responses": {"type": "response.output_text.delta", "delta": "A"},
    }[name]
    body: Any = Body(f"data: {json.dumps(text)}\n\ndata: {json.dumps({'error': 'gone'})}\n\n".encode(), "")
    answer = wire.pieces(body, WIRES[name]())
    said = await anext(answer)
    with pytest.raises(UpstreamError) as caught:
        await anext(answer)
    assert said == "A"
    assert caught.value.failure is Failure.SERVER_ERROR


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("body", [b"", b": only a comment\n\n", b"data: {}\n\n", b"data: [1]\n\n", b"<html></html>"])
async def test_a_body_that_says_nothing_is_cut_off(name: str, body: bytes) -> None:
    answer: Any = Body(body, "text/html")
    with pytest.raises(UpstreamError) as caught:
        [piece async for piece in wire.pieces(answer, WIRES[name]())]
    assert caught.value.failure is Failure.CUT_OFF


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("messages", {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 7}}),
        ("messages", {"type": "message_start", "message": None}),
        ("chat", {"choices": [None]}),
        ("chat", chunk({"text": "A"})),
        ("chat", chunk([{"type": "text"}])),
        ("responses", {"type": "response.output_text.delta", "delta": None}),
        ("responses", {"type": "response.completed"}),
    ],
)
async def test_an_event_of_another_shape_is_no_event_of_the_protocol(name: str, event: Any) -> None:
    with pytest.raises(UpstreamError) as caught:
        await pieces(WIRES[name](), event)
    assert caught.value.failure is Failure.INVALID_STREAM


async def test_a_finish_reason_that_says_error_is_one() -> None:
    with pytest.raises(UpstreamError) as caught:
        await pieces(ChunkEvents(), chunk("A", finish="error"))
    assert caught.value.failure is Failure.SERVER_ERROR


@pytest.mark.parametrize(
    ("told", "cached"),
    [
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, 4),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 5}, 5),
        ({"prompt_tokens": 10, "cached_tokens": 6}, 6),
        ({"prompt_tokens": 10, "prompt_tokens_details": None}, 0),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": None}}, 0),
    ],
)
async def test_cached_tokens_have_several_names_and_are_part_of_the_input(told: Any, cached: int) -> None:
    assert await usage_of(told) == Usage(input_tokens=10, cache_read_tokens=cached)


async def test_tokens_of_thinking_are_output_whether_or_not_they_are_counted_in() -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": 30}}
    within = await usage_of({"prompt_tokens": 10, "completion_tokens": 35, "total_tokens": 45, **details})
    beside = await usage_of({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45, **details})
    assert within == beside == Usage(input_tokens=10, output_tokens=35)


async def test_usage_in_a_field_of_a_vendor_s_own_is_read() -> None:
    told = {"prompt_tokens": 3, "completion_tokens": 2}
    assert await usage_of(None, x_groq={"id": "r", "usage": told}) == Usage(input_tokens=3, output_tokens=2)


@pytest.mark.parametrize(
    "told", [[], "many", 7, {"prompt_tokens": "ten"}, {"prompt_tokens": -1}, {"prompt_tokens": True}]
)
async def test_odd_usage_costs_no_answer(told: Any) -> None:
    assert await usage_of(told) in (None, Usage())


def start(usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"usage": usage}}


async def ended(*usages: Any) -> Usage | None:
    deltas = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage} for usage in usages[1:]]
    said = await pieces(MessageEvents(), start(usages[0]), *deltas, {"type": "message_stop"})
    assert isinstance(said[0], Started)
    assert isinstance(said[-1], Ended)
    return said[-1].usage


async def test_input_is_what_was_new_and_what_was_read_and_written_in_the_cache() -> None:
    told = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500, "output_tokens": 1}
    expected = Usage(input_tokens=543, output_tokens=9, cache_read_tokens=40, cache_write_tokens=500)
    assert await ended(told, {"output_tokens": 9}) == expected
    assert await ended(told, {**told, "output_tokens": 9}) == expected


async def test_the_last_word_on_the_input_counts() -> None:
    assert await ended({"input_tokens": 30, "output_tokens": 1}, {"input_tokens": 45, "output_tokens": 2}) == Usage(
        input_tokens=45, output_tokens=2
    )


async def test_writes_may_be_told_by_their_lifetimes_alone() -> None:
    told = {"input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 6, "ephemeral_1h_input_tokens": 4}}
    assert await ended(told, {"output_tokens": 2}) == Usage(input_tokens=11, output_tokens=2, cache_write_tokens=10)


@pytest.mark.parametrize("odd", [None, [], {"input_tokens": None, "output_tokens": None}, {"input_tokens": "x"}])
async def test_usage_that_is_left_out_costs_no_answer(odd: Any) -> None:
    assert await ended(odd, odd) == Usage()


async def test_a_block_may_begin_with_text() -> None:
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "A"}}
    other = {"type": "content_block_start", "index": 1, "content_block": {"type": "compaction", "content": None}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "B"}}
    hidden = {"type": "content_block_delta", "index": 1, "delta": {"type": "compaction_delta", "content": "summary"}}
    said = await pieces(MessageEvents(), block, delta, other, hidden, {"type": "message_stop"})
    assert said == ["AB", Ended(Stop.END, Usage())]


def response(status: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"object": "response", "status": status, **more}}


@pytest.mark.parametrize(
    ("events", "stop"),
    [
        ([response("completed")], Stop.END),
        ([response("incomplete", incomplete_details={"reason": "max_output_tokens"})], Stop.MAX_TOKENS),
        ([response("incomplete", incomplete_details={"reason": "content_filter"})], Stop.REFUSAL),
        ([{"type": "response.refusal.delta", "delta": "no"}, response("completed")], Stop.REFUSAL),
    ],
)
async def test_a_response_ends_for_a_reason(events: list[Any], stop: Stop) -> None:
    assert await pieces(ResponseEvents(), *events) == [Ended(stop, None)]


@pytest.mark.parametrize(
    ("event", "failure"),
    [
        (response("incomplete", incomplete_details=None), Failure.CUT_OFF),
        (response("failed", error={"code": "server_error", "message": "m"}), Failure.SERVER_ERROR),
        (response("failed", error={"code": "rate_limit_exceeded", "message": "m"}), Failure.RATE_LIMITED),
        (response("failed", error={"code": "invalid_prompt", "message": "m"}), Failure.REFUSED),
        (response("failed", error=None), Failure.SERVER_ERROR),
        ({"type": "error", "code": "server_is_overloaded", "message": "m", "param": None}, Failure.OVERLOADED),
        (
            {"type": "error", "error": {"type": "insufficient_quota", "code": "insufficient_quota"}},
            Failure.RATE_LIMITED,
        ),
        ({"type": "response.created", "response": {"error": None}}, Failure.CUT_OFF),
    ],
)
async def test_a_response_fails_for_a_reason(event: Any, failure: Failure) -> None:
    with pytest.raises(UpstreamError) as caught:
        await pieces(ResponseEvents(), event, end="data: [DONE]\n\n")
    assert caught.value.failure is failure


async def test_thinking_in_a_response_is_not_its_answer() -> None:
    events = [
        {"type": "response.reasoning_text.delta", "delta": "hm"},
        {"type": "response.reasoning_summary_text.delta", "delta": "hm"},
        {"type": "response.output_text.delta", "delta": "A"},
        response(
            "completed", usage={"input_tokens": 5, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 2}}
        ),
    ]
    usage = Usage(input_tokens=5, output_tokens=4, cache_read_tokens=2)
    assert await pieces(ResponseEvents(), *events) == ["A", Ended(Stop.END, usage)]


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (400, '{"error":{"message":"no such tool","code":"invalid_request_error"}}', Failure.BAD_REQUEST),
        (400, '{"error":{"message":"This model\'s maximum context length is 8192"}}', Failure.CONTEXT_LENGTH),
        (429, [{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}], Failure.RATE_LIMITED),
        (
            400,
            [{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}],
            Failure.BAD_REQUEST,
        ),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, Failure.BAD_REQUEST),
        (400, {"detail": "Input is too long for this model"}, Failure.CONTEXT_LENGTH),
        (400, {"message": "Please reduce the length of the messages"}, Failure.CONTEXT_LENGTH),
        (400, {"message": "input length and `max_tokens` exceed context limit: 9 > 8"}, Failure.CONTEXT_LENGTH),
        (400, {"object": "error", "message": "bad", "code": 400}, Failure.BAD_REQUEST),
        (
            400,
            {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}},
            Failure.UNAUTHORISED,
        ),
        (403, {"error": {"code": 403, "message": "Your input was flagged by moderation"}}, Failure.REFUSED),
        (403, {"error": {"code": 403, "message": "Key is disabled"}}, Failure.UNAUTHORISED),
        (
            404,
            {"error": {"code": "model_not_found", "message": "m", "type": "invalid_request_error"}},
            Failure.BAD_REQUEST,
        ),
        (520, "<html>{</html>", Failure.SERVER_ERROR),
        (500, "{not json", Failure.SERVER_ERROR),
        (500, [], Failure.SERVER_ERROR),
    ],
)
def test_a_refusal_is_named_whoever_wrote_it(status: int, body: Any, failure: Failure) -> None:
    assert of_response(status, body, {}).failure is failure


@pytest.mark.parametrize(
    ("event", "failure"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, Failure.RATE_LIMITED),
        (
            {"error": {"code": 502, "message": "upstream"}, "choices": [{"finish_reason": "error"}]},
            Failure.SERVER_ERROR,
        ),
        ({"error": {"code": "tool_use_failed", "status_code": 400, "message": "m"}}, Failure.BAD_REQUEST),
        ({"error": {"code": 400, "message": "maximum context length"}}, Failure.CONTEXT_LENGTH),
        ({"error": {"code": 7, "message": "m"}}, Failure.SERVER_ERROR),
    ],
)
def test_an_error_inside_a_stream_may_say_its_status(event: Mapping[str, Any], failure: Failure) -> None:
    assert of_event(event).failure is failure


def test_what_a_server_says_reaches_the_person_whatever_it_calls_it() -> None:
    for body in (
        {"detail": "too hot"},
        {"message": "too hot"},
        '{"error": "too hot"}',
        [{"error": {"message": "too hot"}}],
    ):
        assert "too hot" in of_response(400, body, {}).detail
