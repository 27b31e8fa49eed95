"""What reading a provider's stream costs this process: the SDK's typed events against raw bytes, on two transports.

    python -m bench.stream_cost [--rounds 12]

Decides nothing; measures CPU time of this process alone (the simulators run in another) per event and per stream,
once with each token in a packet of its own and once with all of them at once. Writes
``bench/results/stream_cost.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import orjson

RESULT = Path(__file__).parent / "results" / "stream_cost.json"
SCENARIO = 'extends = "zero"\n[tiers.small]\nper_token = {per_token}\n'
DELIVERIES = {"one event a packet": 0.002, "all at once": 0.0}
PREFIX = "You write travel recommendations. " * 200
RECORDS = "\n".join(
    json.dumps({"id": f"r{n}", "name": "성산일출봉", "facts": "바닷속 화산 분출로 생긴 높이 180m의 응회구입니다."})
    for n in range(9)
)
MESSAGE = (
    '<request>\n{"query":"제주도 3박4일","language":"ko","section":"sights","count":3}\n</request>\n'
    f"<records>\n{RECORDS}\n</records>"
)
Read = Callable[[Any], Awaitable[int]]


async def anthropic_typed(client: anthropic.AsyncAnthropic) -> int:
    """Events read from typed objects."""
    events = 0
    stream = await client.messages.create(
        model="claude-haiku-5-5",
        max_tokens=600,
        stream=True,
        system=[{"type": "text", "text": PREFIX, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": MESSAGE}],
    )
    text = []
    async for event in stream:
        events += 1
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            text.append(event.delta.text)
    return events


async def anthropic_raw(client: anthropic.AsyncAnthropic) -> int:
    """Events read from bytes."""
    events, text = 0, []
    async with client.messages.with_streaming_response.create(
        model="claude-haiku-5-5",
        max_tokens=600,
        stream=True,
        system=[{"type": "text", "text": PREFIX, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": MESSAGE}],
    ) as response:
        async for data in _data(response.http_response.aiter_bytes()):
            event = orjson.loads(data)
            events += event["type"] != "ping"  # the typed iterator passes over pings
            if event["type"] == "content_block_delta":
                text.append(event["delta"]["text"])
    return events


async def openai_typed(client: openai.AsyncOpenAI) -> int:
    """Events read from typed objects."""
    events, text = 0, []
    stream = await client.chat.completions.create(
        model="gpt-6-luna",
        max_completion_tokens=600,
        stream=True,
        stream_options={"include_usage": True},
        messages=[{"role": "system", "content": PREFIX}, {"role": "user", "content": MESSAGE}],
    )
    async for chunk in stream:
        events += 1
        if chunk.choices and chunk.choices[0].delta.content:
            text.append(chunk.choices[0].delta.content)
    return events


async def openai_raw(client: openai.AsyncOpenAI) -> int:
    """Events read from bytes."""
    events, text = 0, []
    async with client.chat.completions.with_streaming_response.create(
        model="gpt-6-luna",
        max_completion_tokens=600,
        stream=True,
        stream_options={"include_usage": True},
        messages=[{"role": "system", "content": PREFIX}, {"role": "user", "content": MESSAGE}],
    ) as response:
        async for data in _data(response.http_response.aiter_bytes()):
            if data != b"[DONE]":
                events += 1
                choices = orjson.loads(data)["choices"]
                if choices and choices[0]["delta"].get("content"):
                    text.append(choices[0]["delta"]["content"])
    return events


async def _data(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event; enough of the format for what the simulators send."""
    rest = b""
    async for chunk in chunks:
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            yield block[block.index(b"data: ") + 6 :]


CASES: dict[str, tuple[str, Read]] = {
    "anthropic, typed events": ("anthropic", anthropic_typed),
    "anthropic, raw bytes": ("anthropic", anthropic_raw),
    "openai, typed events": ("openai", openai_typed),
    "openai, raw bytes": ("openai", openai_raw),
}


@asynccontextmanager
async def simulators(per_token: float) -> AsyncIterator[str]:
    """Simulators in a process of their own; yields their URL."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "measured.toml"
        scenario.write_text(SCENARIO.format(per_token=per_token), encoding="utf-8")
        command = [sys.executable, "-m", "simulators", "--port", "0", "--scenario", str(scenario)]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), 30)
            yield line.decode().split()[-1]
        finally:
            process.terminate()
            await process.wait()


async def measure(rounds: int) -> list[dict[str, Any]]:
    """One row for each case, transport and delivery."""
    rows = []
    for delivery, per_token in DELIVERIES.items():
        async with simulators(per_token) as url:
            for name, (provider, read) in CASES.items():
                for transport in ("SDK default", "aiohttp"):
                    async with _client(provider, url, transport) as client:
                        rows.append(
                            {
                                "case": name,
                                "transport": transport,
                                "delivery": delivery,
                                **await _cost(read, client, rounds),
                            }
                        )
                        print(rows[-1])
    return rows


async def _cost(read: Read, client: Any, rounds: int) -> dict[str, float]:
    for _ in range(2):
        events = await read(client)
    spent = []
    for _ in range(rounds):
        before = time.process_time()
        events = await read(client)
        spent.append(time.process_time() - before)
    median = statistics.median(spent)
    return {
        "events": events,
        "cpu_ms_per_stream": round(median * 1e3, 2),
        "cpu_us_per_event": round(median / events * 1e6, 1),
    }


def _client(provider: str, url: str, transport: str) -> Any:
    if provider == "anthropic":
        http = anthropic.DefaultAioHttpClient() if transport == "aiohttp" else None
        return anthropic.AsyncAnthropic(
            api_key="none", base_url=f"{url}/anthropic", max_retries=0, open_telemetry=False, http_client=http
        )
    http = openai.DefaultAioHttpClient() if transport == "aiohttp" else None
    return openai.AsyncOpenAI(api_key="none", base_url=f"{url}/openai/v1", max_retries=0, http_client=http)


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="streams for each case")
    rounds = parser.parse_args().rounds
    rows = _run(measure(rounds))
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(
        json.dumps({"rounds": rounds, "rows": rows}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def _run(work: Any) -> Any:
    import uvloop  # as the services do; not available everywhere

    return uvloop.run(work)


if __name__ == "__main__":
    main()
