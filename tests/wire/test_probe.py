"""The health check of containers, against real servers and as the command that a container runs."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest

from headway import probe
from headway.server import Check, Hosted, always_ready
from headway.testing import PATIENCE, eventually, hosting

NAME = "headway.v1.RouterService"


async def broken() -> str:
    return "the model is not loaded"


def hosted(check: Check) -> Hosted:
    return Hosted(name=NAME, register=lambda _server: None, check=check)


async def missing(target: str, service: str) -> str:
    return await asyncio.to_thread(probe.missing, target, service, 5.0 * PATIENCE)


@pytest.mark.parametrize("service", [NAME, ""])
async def test_nothing_is_missing_when_the_server_says_serving(service: str) -> None:
    async with hosting(hosted(always_ready)) as target:

        async def ready() -> bool:
            return not await missing(target, service)

        await eventually(ready, what="the server is ready")


async def test_what_is_not_ready_is_said() -> None:
    async with hosting(hosted(broken)) as target:
        assert "NOT_SERVING" in await missing(target, NAME)
        assert "does not know headway.v1.Other" in await missing(target, "headway.v1.Other")


async def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        assert "did not answer within 0.2 s" in await asyncio.to_thread(probe.missing, target, "", 0.2)


async def run(*arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "headway.probe", *arguments, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await asyncio.wait_for(process.communicate(), 20 * PATIENCE)
    return process.returncode, errors.decode()


async def test_the_command_leaves_with_zero_only_when_the_service_is_ready() -> None:
    async with hosting(hosted(always_ready)) as target:
        assert await run(target, NAME) == (0, "")
        code, errors = await run(target, "headway.v1.Other")
        assert (code, errors.count("\n")) == (1, 1)


async def test_the_command_says_when_nothing_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        code, errors = await run(f"127.0.0.1:{closed.getsockname()[1]}")
    assert code == 1
    assert "cannot be reached: UNAVAILABLE" in errors


@pytest.mark.parametrize("arguments", [(), ("localhost",), ("127.0.0.1:1", "--timeout", "5")])
async def test_a_wrong_command_is_told_apart(arguments: tuple[str, ...]) -> None:
    code, errors = await run(*arguments)
    assert code == probe.EX_USAGE
    assert "usage" in errors
