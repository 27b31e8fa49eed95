"""A look at a mesh as lines of text that fit a terminal of 80 columns, and use a wider one.

Decides columns, what is left out when rows are few, and which numbers stand out. Knows no metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from statistics import median

from rich.cells import set_cell_size
from rich.text import Text

from headway.cli.terminal import harmless
from headway.cli.top_view import SPARKS, ProviderRow, StageRow, View

LEAST_COLUMNS = 80
LEAST_STAGES = 3
MOST_PROVIDERS = 4
MOST_GIVEN_UP = 2
_BLOCKS = "▁▂▃▄▅▆▇"
_NAME = 22
_NUMBER = 8
_NOTHING = "·"
_GOOD, _POOR = 0.99, 0.95
_MUCH_FLOOR = 0.2
_STEADY = 1.6


def lines(view: View, title: str, *, columns: int, rows: int | None = None) -> list[Text]:
    """The whole picture below ``title``. ``rows`` None: as many as it takes; else what matters least is left out."""
    columns = max(LEAST_COLUMNS, columns)
    head = [_title(title, view), *_health(view, columns), *_missing(view)]
    providers = [line for row in view.providers for line in _provider(row, columns)]
    given_up = [_degradation(*each) for each in view.given_up]
    stages = list(view.stages)
    if rows is not None:
        room = max(0, rows - len(head) - 2)
        wanted = [_with_heading(len(providers), MOST_PROVIDERS), _with_heading(len(given_up), MOST_GIVEN_UP)]
        stages = _fitting(stages, max(LEAST_STAGES, room - sum(wanted)))
        room -= len(stages) or 1
        providers = _cut(providers, room - wanted[1])
        given_up = _cut(given_up, room - _with_heading(len(providers), len(providers)))
    body = [Text(), _stage_heading(), *(_stage(stage, columns) for stage in stages)]
    if not stages:
        body.append(Text("no request has ended in this span", style="dim"))
    if providers:
        body += [Text(), _provider_heading(), *providers]
    if given_up:
        body += [Text(), Text("given up", style="dim"), *given_up]
    everything = head + body
    return everything if rows is None else everything[:rows]


def _with_heading(count: int, most: int) -> int:
    return 2 + min(count, most) if count else 0


def _cut(part: list[Text], room: int) -> list[Text]:
    return part[: max(0, room - 2)]


def _fitting(stages: list[StageRow], most: int) -> list[StageRow]:
    """Parts of a stage (``router.embed`` beside ``router``) are left out first, then the last ones."""
    if len(stages) > most:
        stages = [stage for stage in stages if not _is_part(stage)]
    return stages[:most]


def _is_part(stage: StageRow) -> bool:
    return stage.name.startswith("router.")


def _title(title: str, view: View) -> Text:
    over = "since the services started" if view.span is None else f"last {view.span:.0f} s"
    reached = len(view.reached)
    services = f"{reached} of {reached + len(view.unreachable)} services"
    return Text.assemble((title, "bold"), f"   {over}   ", (services, "bold red" if view.unreachable else ""))


def _health(view: View, columns: int) -> list[Text]:
    rate = "" if not view.span else f" {view.answers / view.span:.1f}/s"
    p50, p95 = (_ms(value) for value in view.first_item)
    first = _told(
        ("answers", f"{view.answers}{rate}", "bold"),
        ("first item p50", f"{p50} ms", "bold"),
        ("p95", f"{p95} ms", "bold"),
        ("in time", _percent(view.hit), _hit_style(view.hit)),
        ("floor", _percent(view.floor), "yellow" if view.floor > _MUCH_FLOOR else ""),
    )
    flight = [(name, str(count), "bold" if count else "") for name, count in view.in_flight.items()]
    queues = [(f"{name} queue", str(length), "yellow" if length else "") for name, length in view.queues.items()]
    second = Text("in flight  ", style="dim") + _told(*flight, *queues)
    for line in (first, second):
        line.truncate(columns)
    return [first, second]


def _told(*facts: tuple[str, str, str]) -> Text:
    """Label, value and style of each fact on one line."""
    text = Text(end="")
    for number, (label, value, style) in enumerate(facts):
        text.append(("  " if number else "") + f"{label} ", "dim").append(value, style)
    return text


def _missing(view: View) -> list[Text]:
    return [
        Text(f"{name} cannot be reached: {harmless(why)}", style="bold red", no_wrap=True, overflow="ellipsis")
        for name, why in view.unreachable.items()
    ]


def _stage_heading() -> Text:
    names = "".join(f"{name:>{_NUMBER}}" for name in ("ended", "p50", "p95", "p99"))
    return Text(f"{'stage':<{_NAME}}{names}  ms; medians before", style="dim")


def _stage(stage: StageRow, columns: int) -> Text:
    part = _is_part(stage)
    name = set_cell_size(("  " if part else "") + harmless(stage.name), _NAME)
    numbers = "".join(f"{_ms(value):>{_NUMBER}}" for value in (stage.p50, stage.p95, stage.p99))
    sparks = _sparkline(stage.sparks, min(SPARKS, columns - _NAME - 4 * _NUMBER - 2))
    style = "dim" if part else ""
    return Text.assemble((name, style), (f"{stage.calls:>{_NUMBER}}", style), (numbers, style), "  ", (sparks, "cyan"))


def _sparkline(values: Sequence[float], columns: int) -> str:
    """The newest values, the last one at the right. Heights count from zero, so that twice as long looks twice as long,
    and a steady value stands below the top.
    """
    shown = list(values)[-columns:]
    known = [value for value in shown if not isnan(value)]
    if not known or not max(known):
        return ""
    top = max(*known, _STEADY * median(known))
    most = len(_BLOCKS) - 1
    return "".join(" " if isnan(value) else _BLOCKS[round(value / top * most)] for value in shown).rjust(columns)


_PROVIDER = _NAME + _NUMBER + 2


def _provider_heading() -> Text:
    heading = f"{'provider':<{_PROVIDER}}{'well':>7}{'ttft p50':>10}{'p95':>7}{'tpot':>7}{'cached':>8}{'cost':>9}"
    return Text(heading, style="dim")


def _provider(row: ProviderRow, columns: int) -> list[Text]:
    label = set_cell_size(harmless(" ".join(part for part in (row.backend, row.model) if part)), _PROVIDER)
    cost = f"${row.cost:.3f}" if row.cost else _NOTHING
    tpot = _NOTHING if isnan(row.tpot_p50) else f"{row.tpot_p50 * 1e3:.1f}"
    numbers = (
        f"{row.well:>7}{_ms(row.ttft_p50):>10}{_ms(row.ttft_p95):>7}{tpot:>7}{_percent(row.cache_read):>8}{cost:>9}"
    )
    found = [Text.assemble((label, "red" if row.failed and not row.well else ""), numbers)]
    if row.failed:
        worst = sorted(row.failed.items(), key=lambda each: -each[1])
        told = ", ".join(f"{count} {_spoken(outcome)}" for outcome, count in worst)
        failed = Text(f"  failed: {told}", style="red")
        failed.truncate(columns, overflow="ellipsis")
        found.append(failed)
    return found


def _degradation(stage: str, reason: str, count: int) -> Text:
    return Text.assemble(
        (set_cell_size(harmless(stage), _NAME), ""), (f"{count:>{_NUMBER}}", "yellow"), f"  {_spoken(reason)}"
    )


def _spoken(name: str) -> str:
    return harmless(name).replace("_", " ")


def _hit_style(hit: float) -> str:
    if isnan(hit):
        return "dim"
    return "bold green" if hit >= _GOOD else "bold yellow" if hit >= _POOR else "bold red"


def _ms(seconds: float) -> str:
    if isnan(seconds):
        return _NOTHING
    return f"{seconds * 1e3:.1f}" if seconds < 0.01 else f"{seconds * 1e3:.0f}"


def _percent(share: float) -> str:
    if isnan(share):
        return _NOTHING
    # What is not quite all must not look like all.
    return "100 %" if share == 1 else f"{min(share * 100, 99.9):.1f} %"
