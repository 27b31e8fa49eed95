"""Shows the processes of a mesh while they start, and what happens to them afterwards.

A table that is redrawn on a terminal, plain lines elsewhere. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headway.cli.endpoints import Child
from headway.cli.logfiles import Remark
from headway.cli.supervisor import Failure, Phase
from headway.cli.terminal import harmless
from headway.deadline import Clock

_STYLES = {
    Phase.STARTING: "yellow",
    Phase.READY: "green",
    Phase.NOT_READY: "yellow",
    Phase.WAITING: "red",
    Phase.STOPPING: "yellow",
    Phase.STOPPED: "dim",
    Phase.FAILED: "red",
}


@dataclass(slots=True, kw_only=True)
class Row:
    """What is known of a process; ``took`` is the time from start to ready in seconds, None before."""

    name: str
    address: str
    phase: Phase = Phase.STARTING
    detail: str = ""
    since: float = 0.0
    took: float | None = None


class Board:
    """A ``Watcher`` that shows what it is told."""

    def __init__(self, to: Console, children: Sequence[Child], logs: str, *, clock: Clock) -> None:
        self._to = to
        self._logs = logs
        self._clock = clock
        self._rows = {
            child.role.name: Row(name=child.role.name, address=child.address, since=clock()) for child in children
        }
        self._live: Live | None = None
        self._quoted: dict[str, tuple[str, ...]] = {}

    @contextmanager
    def starting(self) -> Iterator[None]:
        """While the mesh starts: the table on a terminal."""
        if not self._to.is_terminal:
            yield
            return
        with Live(self.table(), console=self._to, refresh_per_second=8) as self._live:
            try:
                yield
            finally:
                self._live.update(self.table())
                self._live = None

    def changed(self, name: str, phase: Phase, detail: str) -> None:
        row = self._rows[name]
        if phase is Phase.STARTING and row.phase is not Phase.STARTING:
            row.since, row.took = self._clock(), None
        if phase is Phase.READY and row.took is None:
            row.took = self._clock() - row.since
        entered = phase is not row.phase
        row.phase, row.detail = phase, harmless(detail)
        if self._live is not None:
            self._live.update(self.table())
        elif entered:
            self._announce(row)

    def remarked(self, name: str, remark: Remark, more: int) -> None:
        style = "yellow" if remark.level == "warning" else "red"
        text = f"{name}: {harmless(remark.text)}"
        if more > 0:
            text += f" (and {more} more in {self._logs}/{name}.log)"
        self._to.print(Text(text, style=style))

    def crashed(self, name: str, how: str, lines: Sequence[str], again_after: float) -> None:
        # Of a child that dies of the same cause again and again, the cause is told once.
        known, self._quoted[name] = self._quoted.get(name), tuple(lines)
        told = known == tuple(lines)
        words = "Its last words are the same." if told else "Its last words:"
        self._to.print(Text(f"{name} {how}; it starts again in {again_after:.1f} s. {words}", style="red"))
        if not told:
            self._quote(lines)

    def failed(self, failure: Failure) -> None:
        """Says why a process was given up."""
        self._to.print(Text(f"{failure.name} was given up: it {failure.why}.", style="bold red"))
        self._quote(failure.lines)
        self._to.print(Text(f"The whole log is in {self._logs}/{failure.name}.log", style="dim"))

    def waiting_for(self) -> list[str]:
        """One line for each process that is not ready yet."""
        return [
            f"{row.name}: {row.detail or row.phase}"
            for row in self._rows.values()
            if row.phase not in (Phase.READY, Phase.STOPPED)
        ]

    def table(self) -> Table:
        """All processes as they are now."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("part", "address", "state", ""):
            table.add_column(heading, overflow="fold")
        for row in self._rows.values():
            took = f" after {row.took:.1f} s" if row.took is not None and row.phase is Phase.READY else ""
            state = Text(row.phase + took, style=_STYLES[row.phase])
            table.add_row(row.name, row.address, state, Text(row.detail, style="dim"))
        return table

    def _announce(self, row: Row) -> None:
        if row.phase is Phase.READY:
            self._to.print(f"{row.name} is ready at {row.address}" + (f" after {row.took:.1f} s" if row.took else ""))
        elif row.phase is Phase.NOT_READY:
            self._to.print(Text(f"{row.name} is no longer ready: {row.detail}", style="yellow"))

    def _quote(self, lines: Sequence[str]) -> None:
        for line in lines or ["(it said nothing)"]:
            self._to.print(Text(f"    {harmless(line)}"))
