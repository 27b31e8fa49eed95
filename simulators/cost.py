"""Measures what the simulators cost themselves: CPU time per answer, unpaced and paced. `python -m simulators.cost`.

Refuses to know what callers cost: the server is a process of its own, and only that one's time counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

ANSWERS = 400
IN_FLIGHT = 16
EVENT = b"event: content_block_delta"
HEADERS = {"x-api-key": "any", "anthropic-version": "2026-10-21"}


def _ask() -> dict[str, Any]:
    records = "\n".join(
        json.dumps({"id": f"r{nth}", "name": f"Place {nth}", "facts": "a quiet garden with a view of the harbour"})
        for nth in range(6)
    )
    request = json.dumps({"query": "three days by the sea", "language": "en", "count": 3})
    text = f"<request>\n{request}\n</request>\n<records>\n{records}\n</records>"
    messages = [{"role": "user", "content": text}]
    return {"model": "claude-sonnet-5", "max_tokens": 2000, "stream": True, "messages": messages}


async def measure(scenario: str) -> dict[str, float]:
    """CPU milliseconds per answer and microseconds per event, of a server with that scenario and answers in flight."""
    async with _server(scenario) as (url, pid), aiohttp.ClientSession() as http:
        turns = asyncio.Semaphore(IN_FLIGHT)

        async def one() -> int:
            async with turns, http.post(f"{url}/anthropic/v1/messages", json=_ask(), headers=HEADERS) as response:
                return (await response.read()).count(EVENT)

        await asyncio.gather(*(one() for _ in range(IN_FLIGHT)))
        before = _cpu_seconds(pid)
        events = sum(await asyncio.gather(*(one() for _ in range(ANSWERS))))
        spent = _cpu_seconds(pid) - before
    return {
        "answers": ANSWERS,
        "events_per_answer": round(events / ANSWERS, 1),
        "cpu_ms_per_answer": round(spent / ANSWERS * 1e3, 3),
        "cpu_us_per_event": round(spent / events * 1e6, 1),
    }


@asynccontextmanager
async def _server(scenario: str) -> AsyncIterator[tuple[str, int]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "simulators", "--port", "0", "--scenario", scenario, stdout=asyncio.subprocess.PIPE
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the server has no output to read its address from")
        line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        yield line.split()[-1], process.pid
    finally:
        process.terminate()
        await process.wait()


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process (Linux: fields 14 and 15 of its stat file, in clock ticks)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _main() -> None:
    measured = {scenario: await measure(scenario) for scenario in ("zero", "default")}
    sys.stdout.write(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    asyncio.run(_main())
