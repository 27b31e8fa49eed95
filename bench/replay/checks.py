"""Holds what adapters make of recorded answers to what it must be.

Decides what counts as a fault: a cut that changes anything, a text that is not the official SDK's, an error without a
name, a sum that is wrong, a broken item taken for another. Each check returns counts, and names what failed.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.replay import reading, recordings
from bench.replay.reading import Outcome
from bench.replay.recordings import FOREIGN, Recording
from bench.replay.server import Replay
from services.generator.upstream import Provider
from services.retrieval.web.search import WebSearchError
from services.retrieval.web.tavily import tavily

EDGE_BYTES = 4096
"""So much of the beginning and the end of a stream is cut at every byte."""
REFUSALS = {"unauthorised", "refused", "bad_request", "context_length"}
BY_STATUS: Mapping[int, set[str]] = {401: {"unauthorised"}, 403: {"unauthorised", "refused"}, 429: {"rate_limited"}}


@dataclass(slots=True)
class Findings:
    """Counts by what was counted, and the faults."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def check(self, *, holds: bool, fault: str) -> None:
        """Notes a fault that a thing has."""
        if not holds:
            self.faults.append(fault)

    def as_json(self) -> dict[str, Any]:
        """The counts by name, and the faults."""
        return {**dict(sorted(self.counts.items())), "faults": self.faults}


def cuts(size: int, *, rng: random.Random, further: int) -> list[int]:
    """Where a body is cut: at every byte of its edges, and at random between them."""
    if size <= 2 * EDGE_BYTES:
        return list(range(1, size))
    between = rng.sample(range(EDGE_BYTES, size - EDGE_BYTES), min(further, size - 2 * EDGE_BYTES))
    return [*range(1, EDGE_BYTES), *sorted(between), *range(size - EDGE_BYTES, size)]


async def read_in_pieces(found: Iterable[Recording], *, rng: random.Random, further: int) -> Findings:
    """Every stream through the adapter's reader: cut in two at every byte, into many at random, and byte by byte."""
    findings = Findings()
    for each in found:
        whole = await reading.decoded(each.protocol, [each.body], each.headers)
        findings.counts[f"{each.protocol}.streams"] += 1
        findings.counts[f"{each.protocol}.{whole.ending.split(':')[0]}"] += 1
        findings.check(holds=whole.ending != "nothing", fault=f"{each.name}: has no ending")
        ways = [[each.body[:at], each.body[at:]] for at in cuts(len(each.body), rng=rng, further=further)]
        ways += [[each.body[at : at + 1] for at in range(len(each.body))]]
        ways += [_many(each.body, rng) for _ in range(8)]
        findings.counts["cuts"] += len(ways)
        for way in ways:
            outcome = await reading.decoded(each.protocol, way, each.headers)
            if outcome != whole:
                findings.faults.append(f"{each.name}: cut after {len(way[0])} bytes: {outcome.ending}")
                break
    return findings


async def read_over_http(
    found: Iterable[Recording], replay: Replay, providers: Mapping[str, Provider], *, rng: random.Random
) -> Findings:
    """Every stream over HTTP through the whole adapter, at once, byte by byte and in random pieces, and through the
    official SDK."""
    findings = Findings()
    for each in found:
        whole = await reading.decoded(each.protocol, [each.body], each.headers)
        ways = [[each.body], [each.body[at : at + 1] for at in range(len(each.body))], _many(each.body, rng)]
        for way in ways:
            replay.answer(each, way)
            outcome = await reading.called(providers[each.protocol])
            findings.counts["calls"] += 1
            findings.check(holds=outcome == whole, fault=f"{each.name}: over HTTP {outcome.ending}, not {whole.ending}")
        if each.protocol != FOREIGN and _ended_well(whole) and "json" not in each.headers.get("content-type", ""):
            replay.answer(each, [each.body])
            text = await reading.typed(each.protocol, replay.url)
            findings.counts[f"{each.protocol}.texts_equal_to_the_sdk"] += text == whole.text
            findings.counts["characters"] += len(text)
            findings.check(holds=text == whole.text, fault=f"{each.name}: the text is not the official SDK's")
    return findings


async def name_errors(found: Iterable[Recording], replay: Replay, providers: Mapping[str, Provider]) -> Findings:
    """Every recorded error has a name that goes with its status, and says something to a person."""
    findings = Findings()
    for each in found:
        replay.answer(each, [each.body])
        outcome = await reading.called(providers[each.protocol])
        name = outcome.ending.partition(":")[0]
        findings.counts["answers"] += 1
        findings.counts[f"{each.status}.{name}"] += 1
        fits = name in BY_STATUS.get(each.status, REFUSALS) if each.status < 500 else name not in REFUSALS
        said = not outcome.ending.endswith("no details")
        findings.check(holds=fits and said, fault=f"{each.name}: {outcome.ending}")
    return findings


async def ignore_waits(
    rows: Sequence[Mapping[str, Any]], replay: Replay, providers: Mapping[str, Provider]
) -> Findings:
    """Good answers whose headers ask to wait: nothing waits, nothing fails, nothing is shut."""
    findings = Findings()
    for row in rows:
        protocol = recordings.protocol_of(row["uri"])
        if protocol == FOREIGN or row["status"]["code"] != 200:
            findings.counts["passed_over"] += 1
            continue
        headers = recordings.plain_headers(row["headers"]) | {"content-type": "text/event-stream"}
        body = _answer_with(protocol, row["usage"])
        replay.answer(Recording(name=row["source"], protocol=protocol, body=body, headers=headers), [body])
        outcome = await reading.called(providers[protocol])
        findings.counts["answers"] += 1
        findings.check(holds=_ended_well(outcome), fault=f"{row['source']}#{row['i']}: {outcome.ending}")
        findings.check(holds="retry-after" in headers, fault=f"{row['source']}: has no such header")
    return findings


async def add_up(rows: Sequence[Mapping[str, Any]]) -> Findings:
    """Every usage object is read, and its sums are right."""
    findings = Findings()
    for row in rows:
        usage = row["usage"]
        protocol = _protocol_of_usage(usage)
        body = _answer_with(protocol, usage)
        outcome = await reading.decoded(protocol, [body], {})
        findings.counts[f"{protocol}.objects"] += 1
        told = outcome.usage
        figures = (told.input_tokens, told.output_tokens, told.cache_read_tokens) if told else None
        right = figures == _sums(protocol, usage)
        findings.check(holds=_ended_well(outcome) and right, fault=f"{row['source']}#{row['i']}: {figures}")
    return findings


async def search(found: Iterable[tuple[str, bytes]], replay: Replay) -> Findings:
    """Recorded web searches through the adapter: results of the recording in their order, each with a title; only what
    repeats another may be missing."""
    findings = Findings()
    async with tavily("key", replay.url) as adapter:
        for name, body in found:
            headers = {"content-type": "application/json"}
            replay.answer(Recording(name=name, protocol=FOREIGN, body=body, headers=headers), [body[:7], body[7:]])
            recorded = iter([result["url"] for result in json.loads(body)["results"]])
            try:
                results = await adapter.search("q", count=20, timeout=10.0)
            except WebSearchError as fault:
                findings.faults.append(f"{name}: {fault}")
                continue
            findings.counts["searches"] += 1
            findings.counts["results"] += len(results)
            right = all(result.url in recorded and result.title for result in results)
            findings.check(holds=right and bool(results), fault=f"{name}: not the results that were recorded")
    return findings


def _many(body: bytes, rng: random.Random) -> list[bytes]:
    borders = sorted(rng.sample(range(len(body) + 1), min(12, len(body))))
    return [body[start:end] for start, end in zip([0, *borders], [*borders, len(body)], strict=True)]


def _ended_well(outcome: Outcome) -> bool:
    return outcome.ending in ("end", "max_tokens", "refusal")


def _protocol_of_usage(usage: Mapping[str, Any]) -> str:
    if "cache_creation_input_tokens" in usage or "cache_creation" in usage:
        return "anthropic"
    if "prompt_tokens" in usage:
        return "chat"
    return "responses" if "input_tokens" in usage else FOREIGN


def _sums(protocol: str, usage: Mapping[str, Any]) -> tuple[int, int, int]:
    """Input with everything that was cached, output with everything that was thought, and what was read from a cache;
    worked out without the adapters."""
    if protocol == "anthropic":
        read, written = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
        return usage["input_tokens"] + read + written, usage["output_tokens"], read
    if protocol == FOREIGN:
        return 0, 0, usage.get("cached_tokens") or 0
    asked, written_out = ("prompt", "completion") if protocol == "chat" else ("input", "output")
    details = usage.get(f"{asked}_tokens_details") or {}
    total = usage.get("total_tokens", usage[f"{asked}_tokens"] + usage[f"{written_out}_tokens"])
    return usage[f"{asked}_tokens"], total - usage[f"{asked}_tokens"], details.get("cached_tokens") or 0


def _answer_with(protocol: str, usage: object) -> bytes:
    """The shortest whole answer that tells that usage."""
    if protocol == "anthropic":
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {"usage": usage}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
            {"type": "message_stop"},
        ]
    elif protocol == "responses":
        events = [{"type": "response.completed", "response": {"status": "completed", "usage": usage}}]
    else:
        events = [{"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def folder_has_anything(folder: Path) -> bool:
    """Whether there is a file of any kind that is known."""
    kinds = (
        "recorded_*",
        "chunk_fixtures*",
        "anthropic_overloaded*",
        "retry_after*",
        "usage_*",
        "malformed_*",
        "tavily",
    )
    return folder.is_dir() and any(next(iter(folder.glob(kind)), None) for kind in kinds)
