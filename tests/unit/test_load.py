"""What a load run measures, and when it refuses to report. Time is a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count

import pytest

from headway.load import Answer, CannotKeepRate, Plan, Progress, Recording, generate
from headway.load_arrivals import constant
from headway.load_report import report
from headway.testing import ManualClock


class Time:
    """A clock and a sleep that moves it; calls that are asleep wake in the order of their instants."""

    def __init__(self) -> None:
        self.clock = ManualClock(now=50.0)

    async def sleep(self, seconds: float) -> None:
        # Others that are ready run first, as they would while real time passes.
        await asyncio.sleep(0)
        self.clock.advance(seconds)


def every(gap: float, times: int | None = None) -> Iterator[float]:
    return (number * gap for number in (count() if times is None else range(times)))


async def run(call, arrivals: Iterator[float], time: Time, plan: Plan | None = None, **more) -> Recording:
    return await generate(call, arrivals, plan or Plan(), clock=time.clock, sleep=time.sleep, **more)


def milliseconds(recording: Recording) -> tuple[float, float]:
    figures = report(recording)
    assert figures.total_ms is not None
    return figures.total_ms.p50, figures.total_ms.max


async def test_a_call_that_holds_up_the_sender_makes_those_behind_it_late_not_invisible() -> None:
    time = Time()

    async def call(number: int) -> None:
        # Blocks the loop for a second once: ten calls become due meanwhile and are sent late.
        time.clock.advance(1.0 if number == 0 else 0.001)

    recording = await run(call, every(0.1, 11), time, Plan(late_limit=5.0))
    assert recording.sent == 11
    figures = report(recording)
    assert figures.total_ms is not None
    # By the sending the ten would have taken a millisecond each; by their due times 900 ms, 800 ms and so on.
    assert figures.total_ms.p50 == pytest.approx(506, abs=5)
    assert figures.total_ms.max == pytest.approx(1000, rel=0.01)


async def test_calls_are_sent_when_they_are_due_whatever_came_of_those_before() -> None:
    time, sent, answered = Time(), [], asyncio.Event()

    async def call(number: int) -> None:
        sent.append(time.clock() - 50.0)
        if number == 4:
            answered.set()
        await answered.wait()

    await run(call, every(0.25, 5), time)
    assert sent == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])


async def test_calls_of_the_warm_up_are_made_but_not_recorded() -> None:
    time, made = Time(), []

    async def call(number: int) -> None:
        made.append(number)

    recording = await run(call, constant(10.0), time, Plan(warmup=1.0, duration=2.0))
    assert (len(made), recording.sent, recording.span) == (30, 20, 2.0)
    assert report(recording).rate_sent == pytest.approx(10.0)


async def test_a_number_of_calls_ends_a_run_without_a_duration() -> None:
    time, made = Time(), []

    async def call(number: int) -> None:
        made.append(number)

    recording = await run(call, constant(10.0), time, Plan(warmup=0.5, most=7))
    assert (len(made), recording.sent) == (12, 7)


async def test_late_sends_beyond_the_stated_share_are_refused_with_their_number() -> None:
    time = Time()

    async def call(number: int) -> None:
        time.clock.advance(0.2)

    with pytest.raises(CannotKeepRate, match=r"of 20 calls were sent more than 50 ms .* at most 1% may be"):
        await run(call, every(0.15, 20), time)


async def test_a_few_late_sends_within_the_share_are_reported() -> None:
    time = Time()

    async def call(number: int) -> None:
        time.clock.advance(0.12 if number == 3 else 0.0)

    recording = await run(call, every(0.05, 200), time)
    assert (recording.late, recording.sent) == (1, 200)


async def test_a_sender_that_will_not_catch_up_stops_at_once() -> None:
    time, made = Time(), []

    async def call(number: int) -> None:
        made.append(number)
        time.clock.advance(10.0)

    with pytest.raises(CannotKeepRate, match="will not catch up"):
        await run(call, every(0.1, 1000), time)
    assert len(made) == 1


async def test_more_calls_in_flight_than_allowed_end_the_run_and_cancel_them() -> None:
    time, cancelled = Time(), []

    async def call(number: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    with pytest.raises(CannotKeepRate, match=r"3 calls were in flight 0\.3 s after the start"):
        await run(call, every(0.1), time, Plan(max_in_flight=3))
    assert sorted(cancelled) == [0, 1, 2]


async def test_a_run_in_which_no_call_was_due_is_refused() -> None:
    async def call(number: int) -> None: ...

    with pytest.raises(CannotKeepRate, match="No call was due after the warm-up"):
        await run(call, every(1.0, 3), Time(), Plan(warmup=10.0))


async def test_a_fault_of_the_call_itself_is_not_counted_but_raised() -> None:
    async def call(number: int) -> None:
        raise KeyError("a bug")

    with pytest.raises(ExceptionGroup) as caught:
        await run(call, every(0.1, 3), Time())
    assert caught.group_contains(KeyError, match="a bug")


async def test_leaving_a_run_cancels_what_is_in_flight() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def call(number: int) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    running = asyncio.create_task(generate(call, every(0.0, 1), Plan()))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cancelled.is_set()


async def test_failed_calls_are_counted_apart_and_leave_the_latencies_alone() -> None:
    time = Time()

    async def call(number: int) -> Answer:
        time.clock.advance(0.010)
        if number % 4 == 0:
            return Answer(error="UNAVAILABLE")
        return Answer(first_item_at=time.clock() - 0.005, items=3, finish="complete", tiers={"small": 3})

    figures = report(await run(call, every(0.1, 40), time, Plan(deadline=0.005)))
    assert (figures.n, figures.failed_share, figures.errors) == (40, 0.25, {"UNAVAILABLE": 10})
    assert figures.total_ms is not None
    assert figures.first_item_ms is not None
    assert (figures.total_ms.n, figures.first_item_ms.n) == (30, 30)
    assert figures.first_item_ms.p50 == pytest.approx(5.0, rel=0.01)
    assert (figures.items, figures.items_per_call, figures.tiers) == (90, 2.25, {"small": 90})
    assert figures.inside_deadline == 0.0
    assert figures.finishes == {"complete": 30}


async def test_answers_without_an_item_are_said_to_be_such() -> None:
    async def call(number: int) -> Answer:
        return Answer(finish="complete", degradations={"router: not_a_recommendation": 1})

    figures = report(await run(call, every(0.1, 5), Time()))
    assert (figures.without_item, figures.first_item_ms, figures.inside_deadline) == (5, None, 1.0)
    assert figures.degradations == {"router: not_a_recommendation": 5}


async def test_progress_is_told_after_every_call() -> None:
    seen: list[Progress] = []

    async def call(number: int) -> Answer:
        return Answer(error="" if number else "INTERNAL")

    await run(call, every(0.5, 3), Time(), watch=seen.append)
    assert [(each.sent, each.in_flight, each.failed) for each in seen] == [(1, 0, 1), (2, 0, 1), (3, 0, 1)]


@pytest.mark.parametrize(
    "wrong", [{"duration": 0.0}, {"duration": float("nan")}, {"warmup": -1.0}, {"max_in_flight": 0}]
)
def test_a_plan_that_cannot_be_carried_out_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Plan(**wrong)
