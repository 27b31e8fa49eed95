"""``headway bench``: puts a steady load on any running mesh and says how soon items and answers came.

Decides what may be asked for, what is shown and the exit codes: 0; 1 when more calls failed than may; 3 when the load
could not be sent as asked, and no figure is shown then; 69 when nothing answers at the target.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from headway.settings import SettingsError, addresses, positive_span, share, span

if TYPE_CHECKING:
    from rich.console import Console

    from headway.load import Plan, Progress, Recording
    from headway.load_calls import Request

FAILED = 1
COULD_NOT_KEEP_RATE = 3
UNREACHABLE = 69
CONFIG = 78
CONNECT_WITHIN = 3.0
DEFAULT_RATE = 5.0
ASK_ABOVE_SECONDS = 3600.0
ASK_ABOVE_RATE = 1000.0

app = typer.Typer()


def _parsed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser of settings for an option; its message reaches the user."""

    def parser(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as fault:
            raise typer.BadParameter(str(fault)) from fault

    return parser


def _rate(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (isfinite(number) and number > 0):
        raise ValueError("must be a number above zero, calls a second")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to send where. ``rate`` None: as the trace recorded it."""

    target: str
    rate: float | None
    arrivals: str
    seed: int
    plan: Plan
    deadline: float


@app.command()
def bench(
    target: Annotated[
        str | None,
        typer.Option(parser=_parsed(addresses), help="Where the orchestrator is; the mesh that runs here if unset."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            parser=_parsed(_rate), metavar="RATE", help="Calls a second; 5 if unset, or as the trace recorded them."
        ),
    ] = None,
    duration: Annotated[
        float, typer.Option(parser=_parsed(positive_span), metavar="SPAN", help="How long calls are measured.")
    ] = "30s",  # type: ignore[assignment]  # parsed as if it had been typed
    deadline: Annotated[
        float, typer.Option(parser=_parsed(positive_span), metavar="SPAN", help="Deadline of each call.")
    ] = "5s",  # type: ignore[assignment]
    queries: Annotated[
        Path | None, typer.Option(help="A query a line, or a request as JSON; a mix of 24 queries if unset.")
    ] = None,
    warmup: Annotated[
        float, typer.Option(parser=_parsed(span), metavar="SPAN", help="Calls before this has passed do not count.")
    ] = "3s",  # type: ignore[assignment]
    arrivals: Annotated[
        str, typer.Option(help="poisson, constant, burst (10 at once), or trace:FILE to replay a CSV file.")
    ] = "poisson",
    seed: Annotated[int, typer.Option(help="Of the arrivals and the order of queries; the same one repeats them.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file; - for standard output.")
    ] = None,
    hdr: Annotated[
        Path | None, typer.Option(help="Write an HDR histogram log; percentiles as text when it ends in .hgrm.")
    ] = None,
    max_in_flight: Annotated[int, typer.Option(min=1, help="With more calls than this at once the run ends.")] = 500,
    max_failed: Annotated[
        float, typer.Option(parser=_parsed(share), metavar="SHARE", help="Share of calls that may fail.")
    ] = "0.01",  # type: ignore[assignment]
    late_limit: Annotated[
        float,
        typer.Option(
            parser=_parsed(positive_span),
            metavar="SPAN",
            help="With more than 1% of calls sent this late nothing counts.",
        ),
    ] = "50ms",  # type: ignore[assignment]
    yes: Annotated[bool, typer.Option("--yes", help="Also for more than an hour, or 1000 calls a second.")] = False,
) -> None:
    """Send calls to a running mesh at a rate and show how soon answers came. With a provider key it costs money."""
    from headway.load import CannotKeepRate, Plan

    if not yes and (duration + warmup > ASK_ABOVE_SECONDS or (rate or 0) > ASK_ABOVE_RATE):
        raise typer.BadParameter("more than an hour, or than 1000 calls a second, needs --yes")
    _refuse_unwritable(json_file, hdr)
    load = Load(
        target=target or _default_target(),
        rate=rate,
        arrivals=arrivals,
        seed=seed,
        plan=Plan(
            duration=duration,
            warmup=warmup,
            max_in_flight=max_in_flight,
            deadline=deadline,
            late_limit=late_limit,
        ),
        deadline=deadline,
    )
    instants, requests = _instants(load), _requests(queries)
    to = _console(sys.stderr if json_file == Path("-") else sys.stdout)
    try:
        recording = asyncio.run(_measured(load, instants, requests))
    except CannotKeepRate as refusal:
        _leave(COULD_NOT_KEEP_RATE, f"{refusal} Nothing is reported.")
    if recording is None:
        _leave(UNREACHABLE, f"No mesh answers at {load.target}. Start one with `headway up`, or name another.")
    _tell(load, recording, to, json_file, hdr)
    if recording.failed_share > max_failed:
        _leave(FAILED, f"{recording.failed} of {recording.sent} calls failed; {max_failed:.1%} may.")


async def _measured(load: Load, instants: Iterator[float], requests: list[Request]) -> Recording | None:
    """None when nobody is at the target. Raises CannotKeepRate."""
    from random import Random

    import grpc

    from headway.channel import resolvable
    from headway.cli.endpoints import channel_options
    from headway.load import generate
    from headway.load_calls import RecommendCalls, shuffled

    options = channel_options(load.target)
    async with grpc.aio.insecure_channel(resolvable(load.target), options=options) as channel:
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                await channel.channel_ready()
        except TimeoutError:
            return None
        # Not the generator of the arrivals, so that those stay the same with other queries.
        order = shuffled(requests, Random(f"queries {load.seed}"))
        calls = RecommendCalls(channel, order, deadline=load.deadline)
        with _progress(load) as watch:
            return await generate(calls, instants, load.plan, watch=watch)


@contextmanager
def _progress(load: Load) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, one line elsewhere."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    to, whole = _console(sys.stderr), load.plan.warmup + load.plan.duration
    if not to.is_terminal:
        to.print(f"Sending calls to {load.target} for {whole:g} s.")
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[now]}")
    with Bar(*columns, console=to, transient=True, disable=not to.is_terminal) as bar:
        task = bar.add_task("warming up", total=whole, now="")

        def watch(progress: Progress) -> None:
            now = f"{progress.sent} sent  {progress.in_flight} in flight  {progress.failed} failed"
            word = "measuring" if progress.elapsed >= load.plan.warmup else "warming up"
            bar.update(task, completed=min(progress.elapsed, whole), description=word, now=now)

        yield watch


def _instants(load: Load) -> Iterator[float]:
    from random import Random

    from headway.load_arrivals import TraceError, bursts, constant, poisson, read_trace, trace

    rate, rng = load.rate or DEFAULT_RATE, Random(load.seed)
    kind, _, file = load.arrivals.partition(":")
    if kind == "trace" and file:
        try:
            return trace(read_trace(Path(file)), rate=load.rate)
        except (TraceError, OSError) as fault:
            raise typer.BadParameter(str(fault), param_hint="--arrivals") from fault
    known = {
        "poisson": lambda: poisson(rate, rng),
        "constant": lambda: constant(rate),
        "burst": lambda: bursts(rate, rng),
    }
    if load.arrivals not in known:
        raise typer.BadParameter("must be poisson, constant, burst or trace:FILE", param_hint="--arrivals")
    return known[load.arrivals]()


def _requests(queries: Path | None) -> list[Request]:
    from headway.load_calls import QueriesError, built_in, read_queries

    if queries is None:
        return built_in()
    try:
        return read_queries(queries)
    except (QueriesError, OSError) as fault:
        raise typer.BadParameter(str(fault), param_hint="--queries") from fault


def _tell(load: Load, recording: Recording, to: Console, json_file: Path | None, hdr: Path | None) -> None:
    import json

    from headway.cli.bench_table import show
    from headway.load_report import report, write_hdr

    figures = report(recording)
    show(figures, to)
    if json_file is not None:
        text = json.dumps(_settings(load) | figures.as_json(), indent=1, ensure_ascii=False) + "\n"
        if json_file == Path("-"):
            sys.stdout.write(text)
        else:
            json_file.write_text(text, encoding="utf-8")
    if hdr is not None:
        for path in write_hdr(recording, hdr):
            to.print(f"Written: {path}")


def _settings(load: Load) -> dict[str, Any]:
    return {
        "target": load.target,
        "arrivals": load.arrivals,
        "rate_asked": load.rate,
        "seed": load.seed,
        "duration_s": load.plan.duration,
        "warmup_s": load.plan.warmup,
        "deadline_ms": load.deadline * 1000,
        "late_limit_ms": load.plan.late_limit * 1000,
    }


def _refuse_unwritable(*files: Path | None) -> None:
    """Better before the run than after it."""
    for file in files:
        if file is not None and (file.is_dir() or not os.access(file.parent, os.W_OK)):
            raise typer.BadParameter(f"{file} cannot be written")


def _default_target() -> str:
    """The mesh that runs with this state folder, else where one would run."""
    from headway.cli.endpoints import MeshConfig, reachable
    from headway.cli.state import running
    from headway.settings import read

    try:
        config = read(MeshConfig, os.environ)
    except SettingsError as fault:
        _leave(CONFIG, f"Unusable configuration:\n{fault}")
    state = running(config.state)
    return state.orchestrator if state is not None and state.orchestrator else reachable(config.orchestrator)


def _console(stream: Any) -> Console:
    from headway.cli.terminal import console

    return console(stream)


def _leave(code: int, why: str) -> NoReturn:
    _console(sys.stderr).print(why, soft_wrap=True)
    raise typer.Exit(code)
