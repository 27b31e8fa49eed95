"""Decides the script of a streamed answer, faults of the stream included. Pure: answers and faults in, steps out.

Refuses to know providers (a turn makes the frames) and what the text means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simulators.answer import Answer
from simulators.faults import Faults
from simulators.script import Act, Step
from simulators.turn import Turn, Usage

COMMENT = b": still here\n\n"


def staged(turn: Turn, answer: Answer, usage: Usage, faults: Faults, *, per_token: float) -> list[Step]:
    """Every step of the stream. The first waits as long as the first token is due after the headers."""
    steps = [Step(0.0, turn.opening())]
    steps += _spoken(turn, answer, faults, per_token)
    closing = turn.closing(answer.text, usage, answer.ending)
    steps.append(Step(0.0, closing))
    if "no_end_marker" not in faults:
        steps.append(Step(0.0, turn.end_marker(answer.text, usage, answer.ending)))
    return _disturbed(steps, turn, answer, faults) if faults else steps


def _spoken(turn: Turn, answer: Answer, faults: Faults, per_token: float) -> Iterator[Step]:
    wait = faults["slow_first_token"].number("seconds") if "slow_first_token" in faults else 0.0
    for thought in answer.thoughts:
        yield Step(wait, turn.thought(thought), 1)
        wait = per_token
    if answer.thoughts:
        yield Step(0.0, turn.thought_end())
    for token in answer.tokens:
        yield Step(wait, turn.delta(token), 1)
        wait = per_token


def _disturbed(steps: list[Step], turn: Turn, answer: Answer, faults: Faults) -> list[Step]:
    """The same steps with everything that goes wrong on the way.

    In this order: first what counts the answer's tokens, as long as every step is still at its place; then what
    comes between
    the events and while nothing happens; last what changes bytes regardless of their meaning.
    """
    first = 1 + len(answer.thoughts) + bool(answer.thoughts)
    if "malformed_event" in faults:
        steps = _malformed(steps, first + faults["malformed_event"].whole("nth") - 1)
    steps = _ended(_stalled(steps, first, answer, faults), first, turn, answer, faults)
    if "unknown_events" in faults:
        steps = list(_between(steps, max(1, faults["unknown_events"].whole("every")), turn.unknown()))
    for name, frame in (("pings", turn.ping()), ("comments", COMMENT)):
        if name in faults:
            steps = list(_beating(steps, faults[name].number("seconds"), frame))
    if "crlf" in faults:
        steps = [replace(step, data=step.data.replace(b"\n", b"\r\n")) for step in steps]
    if "split_bytes" in faults:
        steps = list(_split(steps, max(1, faults["split_bytes"].whole("size"))))
    return steps


def _malformed(steps: list[Step], place: int) -> list[Step]:
    """One event's JSON ends in its middle."""
    if place >= len(steps) - 2:
        return steps
    data = steps[place].data
    broken = data[: data.rindex(b"{") + 3] + b"\n\n"
    return [*steps[:place], replace(steps[place], data=broken), *steps[place + 1 :]]


def _between(steps: list[Step], every: int, frame: bytes) -> Iterator[Step]:
    yield Step(0.0, frame)
    for nth, step in enumerate(steps):
        yield step
        if nth % every == 0 and nth < len(steps) - 1:
            yield Step(0.0, frame)


def _stalled(steps: list[Step], first: int, answer: Answer, faults: Faults) -> list[Step]:
    if "stall" not in faults:
        return steps
    place = first + _place(faults, "stall", answer)
    late = replace(steps[place], wait=steps[place].wait + faults["stall"].number("seconds"))
    return [*steps[:place], late, *steps[place + 1 :]]


def _ended(steps: list[Step], first: int, turn: Turn, answer: Answer, faults: Faults) -> list[Step]:
    """The steps up to the earliest fault that ends the stream, and that fault."""
    ends: list[tuple[int, Step]] = []
    for name, act in (("reset", Act.RESET), ("close", Act.CLOSE)):
        if name in faults and (place := _place(faults, name, answer)) >= 0:
            ends.append((place, Step(0.0, b"", act=act)))
    if "error_in_stream" in faults:
        fault = faults["error_in_stream"]
        failure = Step(0.0, turn.failure(fault.text("kind"), fault.text("shape")))
        ends.append((_place(faults, "error_in_stream", answer), failure))
    if not ends:
        return steps
    place, end = min(ends, key=lambda each: each[0])
    # An error before the first token comes before everything else, as providers send it.
    kept = 0 if place == 0 and end.act is Act.NONE else first + place
    return [*steps[:kept], end]


def _place(faults: Faults, name: str, answer: Answer) -> int:
    """Tokens of the answer before the fault; below 0 when the stream does not even begin."""
    tokens, items = faults[name].whole("tokens"), faults[name].whole("items")
    if tokens < 0 and items < 0:
        return -1
    return answer.tokens_until(tokens=tokens, items=items)


def _beating(steps: Iterable[Step], every: float, frame: bytes) -> Iterator[Step]:
    """A frame whenever so many seconds of the script have passed; waits are divided for it, and never grow."""
    every, passed = max(every, 0.001), 0.0
    for step in steps:
        wait = step.wait
        while passed + wait >= every:
            yield Step(every - passed, frame)
            wait -= every - passed
            passed = 0.0
        passed += wait
        yield replace(step, wait=wait)


def _split(steps: Iterable[Step], size: int) -> Iterator[Step]:
    """Packets of so many bytes, wherever that cuts; each goes out by itself."""
    for step in steps:
        parts = [step.data[at : at + size] for at in range(0, len(step.data), size)]
        for nth, part in enumerate(parts):
            is_last = nth == len(parts) - 1
            wait = step.wait if nth == 0 else 0.0
            act = step.act if is_last and step.act is not Act.NONE else Act.FLUSH
            yield Step(wait, part, step.tokens if is_last else 0, act)
        if not parts:
            yield step
