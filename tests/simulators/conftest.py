from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import anthropic
import openai
import pytest

from simulators.server import Simulation, running


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Any]]:
    """Starts simulators that are stopped after the test."""
    async with AsyncExitStack() as stack:

        async def started(scenario: Any = "zero", *, seed: int = 1) -> Simulation:
            return await stack.enter_async_context(running(scenario=scenario, seed=seed))

        yield started


@pytest.fixture
async def zero(start: Callable[..., Any]) -> Simulation:
    """Simulators in which nothing takes any time."""
    return await start("zero")


@pytest.fixture
async def claude(start: Callable[..., Any]) -> AsyncIterator[Callable[..., anthropic.AsyncAnthropic]]:
    """Makes Anthropic clients without retries, closed before the simulators stop."""
    async with AsyncExitStack() as stack:

        def made(simulation: Simulation, **options: Any) -> anthropic.AsyncAnthropic:
            client = anthropic.AsyncAnthropic(
                base_url=simulation.anthropic_url, **{"api_key": "test", "max_retries": 0, "timeout": 10.0, **options}
            )
            stack.push_async_callback(client.close)
            return client

        yield made


@pytest.fixture
async def gpt(start: Callable[..., Any]) -> AsyncIterator[Callable[..., openai.AsyncOpenAI]]:
    """Makes OpenAI clients without retries, closed before the simulators stop."""
    async with AsyncExitStack() as stack:

        def made(simulation: Simulation, **options: Any) -> openai.AsyncOpenAI:
            client = openai.AsyncOpenAI(
                base_url=simulation.openai_url, **{"api_key": "test", "max_retries": 0, "timeout": 10.0, **options}
            )
            stack.push_async_callback(client.close)
            return client

        yield made
