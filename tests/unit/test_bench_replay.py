"""Recorded answers are put through the adapters, and what does not hold is found."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.replay import broken_items
from bench.replay.__main__ import replay
from bench.replay.checks import add_up, cuts, folder_has_anything

ROOT = Path(__file__).parents[2]
MESSAGE = "https://api.anthropic.com/v1/messages?beta=true"
CHAT = "https://models.example/openai/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
USAGE = {"input_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 2}


def sse(*events: Mapping[str, Any], named: bool = False, end: str = "") -> str:
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines) + end


def message(*texts: str) -> str:
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}} for t in texts]
    start = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
    return sse(
        {"type": "message_start", "message": start | {"stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE},
        {"type": "message_stop"},
        named=True,
    )


def chunk(text: str, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def streamed(uri: str, body: str) -> dict[str, Any]:
    return {"source": "own words", "interaction": 0, "uri": uri, "status": {"code": 200}, "headers": {}, "sse": body}


def lines(path: Path, *rows: Any) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One recording of each kind, in our own words."""
    items = '{"items":[{"sources":["r1"],"title":"길 😀","body":"b","reason":"c"}]}'
    lines(
        tmp_path / "recorded_sse_own.jsonl",
        streamed(MESSAGE, message(items[:20], items[20:])),
        streamed(CHAT, ": waiting\n\n" + sse(chunk("가나"), chunk("", "stop"), end="data: [DONE]\n\n")),
        streamed("https://other.example/v1/generate", 'data: {"candidates": []}\r\n\r\n'),
    )
    fixtures = tmp_path / "chunk_fixtures_own"
    fixtures.mkdir()
    lines(fixtures / "mistral__text.chunks.txt", chunk("안녕"), chunk("", "stop"))
    lines(
        fixtures / "openai__responses__text.chunks.txt",
        {"type": "response.output_text.delta", "delta": "A", "item_id": "i", "output_index": 0, "content_index": 0}
        | {"sequence_number": 0, "logprobs": []},
        {"type": "response.completed", "sequence_number": 1, "response": {"status": "completed", "usage": None}},
    )
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    lines(
        tmp_path / "anthropic_overloaded_own.jsonl",
        {"name": "in stream", "http_status": 200, "chunks": [sse(overloaded, named=True)]},
        {"name": "status", "http_status": 529, "body": json.dumps(overloaded)},
    )
    refused = {"cassette": "own", "i": 0, "headers": {"content-type": ["application/json"]}}
    lines(
        tmp_path / "recorded_http_errors_own.jsonl",
        refused | {"uri": CHAT, "status": {"code": 429}, "body": {"error": {"code": 429, "message": "slow down"}}},
        refused | {"uri": RESPONSES, "status": {"code": 400}, "body": json.dumps({"error": {"message": "no"}})},
    )
    waiting = {"source": "own", "i": 0, "uri": MESSAGE, "status": {"code": 200}, "headers": {"retry-after": "25"}}
    lines(tmp_path / "retry_after_on_200_own.jsonl", waiting | {"usage": USAGE})
    lines(
        tmp_path / "usage_objects_own.jsonl",
        {"source": "own", "i": 0, "usage": USAGE},
        {"source": "own", "i": 1, "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}},
        {"source": "own", "i": 2, "usage": {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": None}},
        {"source": "own", "i": 3, "usage": {"billed": {"input_tokens": 1}}},
    )
    lines(
        tmp_path / "malformed_json_own.jsonl",
        {"input": "{'a': 'x'}", "expected": {"a": "x"}},
        {"input": '[{"a": "y"}, {"a": }]', "expected": '[{"a": "y"}, {"a": ""}]'},
        {"input": "[1", "expected": [1]},
    )
    (tmp_path / "tavily").mkdir()
    (tmp_path / "tavily" / "own.yaml").write_text(
        "interactions:\n- response:\n    parsed_body:\n      results:\n"
        "      - {url: 'https://a.example/x', title: A place, content: Quiet., score: 0.9}\n",
        encoding="utf-8",
    )
    return tmp_path


async def test_what_adapters_read_well_has_no_fault(folder: Path) -> None:
    results = await replay(folder, seed=1, further=5)
    assert {name: findings.faults for name, findings in results.items()} == {name: [] for name in results}
    assert results["pieces"].counts["anthropic.streams"] == 2
    assert results["pieces"].counts["anthropic.overloaded"] == 1
    assert results["pieces"].counts["foreign.cut_off"] == 1
    assert results["http"].counts["chat.texts_equal_to_the_sdk"] == 2
    assert results["http"].counts["responses.texts_equal_to_the_sdk"] == 1
    assert results["errors"].counts["429.rate_limited"] == results["errors"].counts["529.overloaded"] == 1
    assert results["usage"].counts["foreign.objects"] == 1
    assert results["retry_after_on_success"].counts["answers"] == 1
    assert results["web_search"].counts["results"] == 1
    broken = results["broken_items"].counts
    assert (broken["strict.right"], broken["repaired.right"], broken["repaired.dropped"]) == (0, 1, 1)


async def test_a_wrong_sum_is_a_fault() -> None:
    findings = await add_up(
        [{"source": "own", "i": 0, "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 20}}]
    )
    assert len(findings.faults) == 1


def test_an_item_taken_for_another_is_a_fault() -> None:
    findings = broken_items.recover([{"input": '{"a": "x"}', "expected": {"a": "y"}}])
    assert any("taken for something else" in fault for fault in findings.faults)


def test_short_bodies_are_cut_everywhere_and_long_ones_at_their_edges_and_at_random() -> None:
    assert cuts(10, rng=random.Random(1), further=3) == list(range(1, 10))
    found = cuts(20_000, rng=random.Random(1), further=3)
    assert len(found) == 4095 + 3 + 4096
    assert found == sorted(set(found))


@pytest.mark.parametrize("there", [True, False])
def test_without_recordings_nothing_is_done_and_that_is_said(tmp_path: Path, there: bool) -> None:
    path = tmp_path if there else tmp_path / "missing"
    assert not folder_has_anything(path)
    run = subprocess.run(
        [sys.executable, "-m", "bench.replay", str(path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0
    assert run.stdout.startswith("skipped: no recordings")
    assert all(name in run.stdout for name in ("pydantic-ai", "vercel/ai", "json_repair"))
