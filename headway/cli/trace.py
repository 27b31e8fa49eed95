"""The ledger of a request as a waterfall: one bar over time for each stage and each of its attempts.

Decides how time becomes columns. A thin line is waiting (for a first token), a thick one work. Plain text that fits the
width of the terminal, also where names are written in wide characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from headway.cli.render import Show
from headway.cli.terminal import harmless, milliseconds
from headway.messages import seconds
from headway.v1 import ledger_pb2, recommendation_pb2

LEAST_BAR = 12
MOST_NAME = 30
LEAST_TOTAL = 1e-6
"""Seconds; what takes less is drawn as if it took no time."""
_TIME = 9
_ROUND = (1, 2, 5)
_WELL = frozenset({"ok", "stopped"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One bar: seconds from the arrival of the request. ``waited`` is the part before the first content."""

    name: str
    start: float
    spent: float
    waited: float = 0.0
    note: str = ""
    attempt: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The characters that bars are made of."""

    waiting: str
    working: str
    tick: str
    point: str


LINES = Marks(waiting="─", working="━", tick="╷", point="▲")
ASCII = Marks(waiting="-", working="=", tick="|", point="^")


class Traced:
    """Shows the events of an answer as ``inner`` does, and behind its summary the waterfall."""

    def __init__(self, inner: Show, to: Console, again: str) -> None:
        """``again`` is the command that shows a request again, less its id."""
        self._inner = inner
        self._to = to
        self._again = again
        self._request_id = ""

    def __call__(self, event: recommendation_pb2.RecommendResponse, after: float) -> None:
        self._inner(event, after)
        if event.HasField("plan"):
            self._request_id = harmless(event.plan.request_id)
        elif event.HasField("summary"):
            show(event.summary, self._to)
            self._to.print(Text(f"{self._again} {self._request_id}", style="dim"), soft_wrap=True)


def show(summary: recommendation_pb2.Summary, to: Console) -> None:
    """Prints the waterfall of an answer and when its first token and first item came."""
    rows = rows_of(summary.ledger)
    total = max([seconds(summary.total), *(row.start + row.spent for row in rows)], default=0.0)
    points = [
        (label, seconds(getattr(summary, field)))
        for label, field in (("first token", "ttft"), ("first item", "ttf_item"))
        if summary.HasField(field)  # type: ignore[arg-type]  # the two names above
    ]
    marks = ASCII if to.options.ascii_only else LINES
    for line in drawn(rows, points, total=total, columns=to.width, marks=marks):
        to.print(line, no_wrap=True, overflow="crop")
    for reason, names in reasons(summary.ledger).items():
        to.print(Text.assemble((", ".join(names), "bold"), f": {reason}"))


def rows_of(stages: Sequence[ledger_pb2.Stage]) -> list[Row]:
    """Stages in the order in which they began, each followed by its attempts."""
    rows = []
    for stage in sorted(stages, key=lambda each: seconds(each.started_after)):
        start = seconds(stage.started_after)
        rows.append(Row(name=harmless(stage.name), start=start, spent=seconds(stage.spent), note=harmless(stage.rung)))
        rows += [_attempt(attempt, start) for attempt in stage.attempts]
    return rows


def reasons(stages: Sequence[ledger_pb2.Stage]) -> dict[str, list[str]]:
    """Why stages ended on their rungs: each reason once, with the stages that it holds for."""
    found: dict[str, list[str]] = {}
    for stage in stages:
        name, reason = harmless(stage.name), harmless(stage.reason)
        if reason and name not in found.setdefault(reason, []):
            found[reason].append(name)
    return found


def _attempt(attempt: ledger_pb2.Attempt, stage_start: float) -> Row:
    spent = seconds(attempt.spent)
    return Row(
        name=harmless(attempt.model or attempt.backend),
        start=stage_start + seconds(attempt.started_after),
        spent=spent,
        waited=seconds(attempt.ttft) if attempt.HasField("ttft") else spent,
        note=harmless(attempt.outcome),
        attempt=True,
        failed=attempt.outcome not in _WELL,
    )


def drawn(
    rows: Sequence[Row], points: Sequence[tuple[str, float]], *, total: float, columns: int, marks: Marks
) -> Iterator[Text]:
    """The lines of a waterfall of ``total`` seconds, none wider than ``columns`` cells where that can be."""
    notes = max((cell_len(row.note) for row in rows), default=0)
    names = min(MOST_NAME, max((cell_len(_label(row)) for row in rows), default=0))
    room = columns - names - _TIME - notes - 2
    if room < LEAST_BAR:  # a narrow terminal: what stands behind the time is cut off
        room = max(LEAST_BAR, columns - names - _TIME - 2)
    scale = _Scale(total=total if total >= LEAST_TOTAL else 0.0, columns=room)
    yield Text(" " * (names + 1) + scale.ruler(marks.tick), style="dim")
    for row in rows:
        yield _line(row, scale, names=names, marks=marks)
    for label, at in points:
        column = min(room - 1, int(scale.column(at)))
        text = f"{label} {milliseconds(at)}"
        # To the left of its point where there is no room to the right.
        fits = column + 2 + len(text) <= columns - names - 1
        line = " " * column + f"{marks.point} {text}" if fits else f"{text} {marks.point}".rjust(column + 1)
        yield Text(" " * (names + 1) + line, style="dim")


def _label(row: Row) -> str:
    return f"  {row.name}" if row.attempt else row.name


def _line(row: Row, scale: _Scale, *, names: int, marks: Marks) -> Text:
    style = "red" if row.failed else "cyan" if row.attempt else "bold"
    before, waiting, working = scale.parts(row.start, row.waited, row.spent)
    bar = " " * before + marks.waiting * waiting + marks.working * working
    return Text.assemble(
        (set_cell_size(_label(row), names), "" if row.attempt else "bold"),
        " ",
        (bar.ljust(scale.columns), style),
        milliseconds(row.spent).rjust(_TIME),
        " ",
        (row.note, "red" if row.failed else "dim"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """From seconds to columns."""

    total: float
    columns: int

    def column(self, at: float) -> float:
        return at / self.total * self.columns if self.total > 0 else 0.0

    def parts(self, start: float, waited: float, spent: float) -> tuple[int, int, int]:
        """Columns before a bar, of its waiting and of its work; a bar has one column at least."""
        first = min(self.columns - 1, int(self.column(start)))
        last = max(first + 1, min(self.columns, round(self.column(start + spent))))
        middle = min(last, max(first, round(self.column(start + min(waited, spent))))) if waited else first
        return first, middle - first, last - middle

    def ruler(self, tick: str) -> str:
        """Round numbers of milliseconds over their columns, as many as have room."""
        step = self._step()
        line = ""
        number = 0
        while True:
            at = number * step
            label = f"{tick}{at * 1e3:.0f}"
            column = round(self.column(at))
            if column + len(label) > self.columns or (self.total <= 0 and number):
                return line + " ms"
            line = line.ljust(column) + label
            number += 1

    def _step(self) -> float:
        """The smallest round span whose labels do not touch."""
        step, power = 0.001, 0.001
        while self.total > 0 and self.columns * step / self.total < 8:
            for factor in _ROUND:
                step = power * factor
                if self.columns * step / self.total >= 8:
                    break
            power *= 10
        return step
