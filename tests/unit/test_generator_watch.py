"""The limit on silence around a stream: content moves it, nothing else does."""

from __future__ import annotations

import asyncio
import time

import pytest

from services.generator.watch import ContentWatch

LONG = 30.0


def watch(*, first_within: float = LONG, silence: float = LONG, limit: float = LONG) -> ContentWatch:
    return ContentWatch(
        first_within=first_within, silence=silence, limit=time.monotonic() + limit, clock=time.monotonic
    )


async def reads_nothing(watching: ContentWatch) -> None:
    async with watching:
        await asyncio.Event().wait()


async def reads_one_piece(watching: ContentWatch, *, then_within: float = LONG) -> None:
    async with watching:
        watching.content()
        watching.narrow(then_within)
        await asyncio.Event().wait()


async def reads(watching: ContentWatch, pieces: list[int]) -> None:
    async with watching:
        while True:
            await asyncio.sleep(0.005)
            watching.content()
            pieces.append(1)


async def pauses(watching: ContentWatch, *, for_seconds: float) -> None:
    async with watching:
        watching.pause()
        await asyncio.sleep(for_seconds)
        watching.resume()
        await asyncio.Event().wait()


async def test_a_stream_that_never_begins_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        await reads_nothing(watch(first_within=0.02))


async def test_a_stream_that_falls_silent_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        await reads_one_piece(watch(silence=0.02))


async def test_content_keeps_a_stream_alive_until_the_limit() -> None:
    pieces: list[int] = []
    with pytest.raises(TimeoutError):
        await reads(watch(first_within=0.5, silence=0.5, limit=0.7), pieces)
    assert len(pieces) > 5


async def test_a_block_that_ends_in_time_is_left_alone() -> None:
    async with watch(first_within=0.02):
        pass
    await asyncio.sleep(0.04)


async def test_nothing_is_interrupted_while_the_reader_waits_for_something_else() -> None:
    async with watch(first_within=0.01, silence=0.01, limit=0.01) as watching:
        watching.pause()
        await asyncio.sleep(0.05)


async def test_after_a_pause_silence_counts_again() -> None:
    with pytest.raises(TimeoutError):
        await pauses(watch(first_within=0.01, silence=0.01), for_seconds=0.03)


async def test_the_wait_can_be_made_shorter() -> None:
    with pytest.raises(TimeoutError):
        await reads_one_piece(watch(), then_within=0.02)


async def test_a_cancellation_from_outside_passes_through() -> None:
    reading = asyncio.create_task(reads_nothing(watch()))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_an_error_inside_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        async with watch():
            raise ZeroDivisionError
