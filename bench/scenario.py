"""What callers see on an ordinary day: ``python -m bench.scenario [--deadline 5s] [--requests 100]``.

The whole mesh against simulators with the default scenario, at a modest rate in open loop: the time to the first item,
the share of answers inside the deadline, and how many items. Writes ``bench/results/scenario.json``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import grpc
import uvloop
from rich import box
from rich.console import Console
from rich.progress import Progress as Bar
from rich.table import Table

from bench import machine
from bench.mesh import write
from bench.processes import CannotStart, started
from headway.load import CannotKeepRate, Plan, Progress, generate
from headway.load_arrivals import poisson
from headway.load_calls import RecommendCalls, built_in, shuffled
from headway.load_report import report
from headway.settings import positive_span, span

RESULT = Path(__file__).parent / "results" / "scenario.json"
DEADLINES = ("5s", "800ms", "150ms")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 3 when the rate could not be kept, 69 when the mesh cannot be started."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = parser().parse_args(typed)
    deadlines = tuple(dict.fromkeys(options.deadline or DEADLINES))
    to = Console(highlight=False)
    minutes = len(deadlines) * (span(options.warmup) + options.requests / options.rate) / 60 + 0.3
    to.print(f"{options.requests} requests for each of {', '.join(deadlines)}; this takes about {minutes:.1f} minutes.")
    try:
        found = uvloop.run(measure(options, deadlines, to))
    except CannotStart as fault:
        print(fault, file=sys.stderr)
        return 69
    except CannotKeepRate as refusal:
        print(f"{refusal} Nothing is reported.", file=sys.stderr)
        return 3
    show(found, deadlines, to)
    settings = {
        "scenario": options.scenario,
        "seed": options.seed,
        "rate_asked": options.rate,
        "warmup_s": span(options.warmup),
    }
    write(options.output, machine.facts("bench.scenario", typed) | settings | found)
    to.print(f"Written: {options.output}")
    return 0


def parser() -> argparse.ArgumentParser:
    """What may be typed."""
    known = argparse.ArgumentParser(prog="python -m bench.scenario", description=__doc__)
    known.add_argument(
        "--deadline",
        action="append",
        type=_span,
        metavar="SPAN",
        help=f"may be repeated (default: {', '.join(DEADLINES)})",
    )
    known.add_argument("--requests", type=_whole, default=100, help="for each deadline (default: %(default)s)")
    known.add_argument(
        "--warmup", type=_span, default="6s", help="caches of prompts fill, connections open (default: %(default)s)"
    )
    known.add_argument("--rate", type=_rate, default=2.0, help="requests a second (default: %(default)s)")
    known.add_argument("--scenario", default="default", help="of the simulators: a name or a TOML file")
    known.add_argument("--seed", type=int, default=1, help="of simulators, arrivals and queries")
    known.add_argument(
        "--late-limit", type=_span, default="50ms", help="with more than 1%% of requests sent this late nothing counts"
    )
    known.add_argument("--output", type=Path, default=RESULT, help="where the figures go (default: %(default)s)")
    return known


def _span(text: str) -> str:
    try:
        positive_span(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault
    return text


def _whole(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError("must be a whole number above zero")
    return int(text)


def _rate(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1000:
        raise argparse.ArgumentTypeError("must be a number above zero, at most 1000")
    return number


async def measure(options: argparse.Namespace, deadlines: Sequence[str], to: Console) -> dict[str, Any]:
    """One run for each deadline, on one mesh. Raises CannotStart and CannotKeepRate."""
    found: dict[str, Any] = {}
    late_limit, warmup = positive_span(options.late_limit), span(options.warmup)
    async with started(scenario=options.scenario, seed=options.seed) as running:
        async with grpc.aio.insecure_channel(running.target, options=[("grpc.enable_http_proxy", 0)]) as channel:
            await channel.channel_ready()
            with Bar(console=to, transient=True, disable=not to.is_terminal) as bar:
                for text in deadlines:
                    deadline = positive_span(text)
                    plan = Plan(warmup=warmup, most=options.requests, deadline=deadline, late_limit=late_limit)
                    # The same arrivals and queries for every deadline.
                    requests = shuffled(built_in(), Random(f"queries {options.seed}"))
                    calls = RecommendCalls(channel, requests, deadline=deadline)
                    task = bar.add_task(text, total=options.requests + warmup * options.rate)

                    def watch(progress: Progress, task: Any = task) -> None:
                        bar.update(task, completed=progress.sent)

                    arrivals = poisson(options.rate, Random(options.seed))
                    recording = await generate(calls, arrivals, plan, watch=watch)
                    found[f"deadline_{text}"] = {"deadline_ms": deadline * 1000} | report(recording).as_json()
    return found


def show(found: dict[str, Any], deadlines: Sequence[str], to: Console) -> None:
    """Prints the figures; fits 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("deadline", "n", "first p50", "p95", "p99", "whole p50", "p99", "in time", "items"):
        table.add_column(heading, justify="right", no_wrap=True)
    for text in deadlines:
        run = found[f"deadline_{text}"]
        table.add_row(
            text,
            str(run["n"]),
            *(_cell(run["first_item_ms"], each) for each in ("p50", "p95", "p99")),
            *(_cell(run["total_ms"], each) for each in ("p50", "p99")),
            f"{run['inside_deadline']:.0%}",
            f"{run['items_per_call']:.1f}",
        )
    to.print(table)
    for text in deadlines:
        run = found[f"deadline_{text}"]
        written = ", ".join(f"{name} {count}" for name, count in run["tiers"].items())
        failed = "".join(f"; {name} {count}" for name, count in run["errors"].items())
        to.print(f"{text}: items written by {written or 'nobody'}{failed}")


def _cell(quantiles: dict[str, float] | None, name: str) -> str:
    return "" if quantiles is None else f"{quantiles[name]:.0f}"


if __name__ == "__main__":
    sys.exit(main())
