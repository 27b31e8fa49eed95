from __future__ import annotations

import asyncio
import re
import signal
import socket
import sys

import pytest


async def run(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "simulators",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_it_says_where_it_is_and_stops_cleanly_when_told(how):
    process = await run("--port", "0", "--scenario", "zero")
    line = await asyncio.wait_for(process.stdout.readline(), 20)
    assert re.search(rb"on http://127\.0\.0\.1:\d+", line)
    process.send_signal(how)
    _, errors = await asyncio.wait_for(process.communicate(), 10)
    assert (process.returncode, errors) == (0, b"")


async def test_a_port_in_use_is_said_plainly():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = await run("--port", str(taken.getsockname()[1]))
        _, errors = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 78
    assert b"in use" in errors
    assert b"Traceback" not in errors


async def test_an_unusable_scenario_is_refused_with_everything_that_is_wrong_with_it(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('surprise = 1\n[web]\nlatency = -1\n[[models]]\nmatch = "x"\ntier = "none"\n')
    process = await run("--scenario", str(path))
    _, errors = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 78
    for fault in (b"surprise", b"web.latency", b"tier 'none'"):
        assert fault in errors
    assert b"Traceback" not in errors


async def test_a_scenario_that_does_not_exist_is_refused_with_those_that_do():
    process = await run("--scenario", "nowhere")
    _, errors = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 78
    assert b"default" in errors
