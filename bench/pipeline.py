"""What each technique is worth: the same requests answered by every arm, against the same simulators.

    python -m bench.pipeline [--quick] [--rate R] [--requests N] [--seed S] [--arms a,b] [--alone] [--items N]

Composition and command line: decides how long a run is, what is started and where results go. Writes
``bench/results/pipeline.json``, ``.svg`` and ``.png``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import anthropic
import grpc
import httpx2
import openai
import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import machine, plots, processes, report, report_text
from bench.arms import queries
from bench.arms.assembling import ENCODER, Surroundings, assembled, known
from bench.arms.measured import Outcome
from bench.arms.pipeline import Arm
from bench.arms.schedule import Turn, turns
from bench.arms.techniques import MESH, names
from headway import domain as domains
from headway import embedding, load
from headway.ledger import Usage
from headway.load_arrivals import poisson

RESULTS = Path(__file__).parent / "results"
SCENARIO = "default"
REQUESTS, RATE, WARMUP_ROUNDS = 250, 4.0, 4
QUICK_SECONDS = 48.0
"""Over which requests are made in a quick run; starting, and waiting for the slowest, takes the rest of two minutes."""
QUICK_WARMUP_ROUNDS = 2
ITEMS = 3
GIVE_UP, QUICK_GIVE_UP = 60.0, 20.0
"""Seconds after which an answer counts as failed; a web search that stalls takes 30 where nobody limits it."""
START_SECONDS, END_SECONDS = 20.0, 10.0
MOST_FAILED_SHARE = 0.02
LATE_LIMIT, LATE_SHARE, LATE_ANYWAY = 0.1, 0.02, 2
"""Loose: an answer counts from when it is asked for, and the fastest takes half a second."""
NOT_REPORTED = 1
_CALL_FAILURES = (
    anthropic.APIError,
    openai.APIError,
    httpx2.HTTPError,
    grpc.aio.AioRpcError,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when there are results, whether the aims were met or not; 1 when there is nothing to be reported."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _options(given)
    console = Console(stderr=True)
    runner = asyncio.run if sys.platform == "win32" else _uvloop_run
    try:
        return runner(_run(options, given, console))
    except (load.CannotKeepRate, processes.CannotStart) as fault:
        console.print(f"[bold red]Nothing to report.[/] {fault}")
        return NOT_REPORTED


def _uvloop_run(coroutine: Any) -> int:
    import uvloop

    return int(uvloop.run(coroutine))


def _options(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer requests: ends within two minutes")
    parser.add_argument("--rate", type=float, default=RATE, help="requests a second over all arms (%(default)s)")
    parser.add_argument("--requests", type=int, help=f"recorded for each arm ({REQUESTS}; what fits with --quick)")
    parser.add_argument("--seed", type=int, default=1, help="of arrivals, order and simulators (%(default)s)")
    parser.add_argument("--arms", help="some arms only, with commas between: " + ", ".join(names(with_alone=False)))
    parser.add_argument("--alone", action="store_true", help="also each technique alone, to see whether they multiply")
    parser.add_argument("--items", type=int, default=ITEMS, help="items asked of every arm (%(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS / "pipeline.json", help="where results go (%(default)s)")
    options = parser.parse_args(given)
    options.arms = options.arms.split(",") if options.arms else list(names(with_alone=options.alone))
    unknown = set(options.arms) - set(names(with_alone=True))
    if unknown:
        parser.error(f"unknown arms: {', '.join(sorted(unknown))}")
    if not (options.rate > 0 and options.items > 0 and (options.requests is None or options.requests > 0)):
        parser.error("--rate, --requests and --items must be above zero")
    options.warmup_rounds = QUICK_WARMUP_ROUNDS if options.quick else WARMUP_ROUNDS
    if options.requests is None:
        fitting = int(QUICK_SECONDS * options.rate / len(options.arms)) - options.warmup_rounds
        options.requests = max(1, fitting) if options.quick else REQUESTS
    return options


async def _run(options: argparse.Namespace, given: Sequence[str], console: Console) -> int:
    began = machine.facts("bench.pipeline", given)
    made = (options.requests + options.warmup_rounds) * len(options.arms)
    expected = START_SECONDS + made / options.rate + END_SECONDS
    console.print(
        f"{len(options.arms)} arms, {options.requests} requests each and {options.warmup_rounds} to warm up, "
        f"{options.rate:g} a second over all: about [bold]{_span(expected)}[/]."
    )
    domain = domains.load(processes.ROOT / "domains" / "travel")
    asked = queries.load(domain, count=options.items)
    planned = turns(
        options.arms, asked, rounds=options.requests, warmup_rounds=options.warmup_rounds, rng=Random(options.seed)
    )
    async with AsyncExitStack() as lifetimes:
        console.print("Starting simulators, mesh and arms.")
        upstream = await lifetimes.enter_async_context(processes.simulators(scenario=SCENARIO, seed=options.seed))
        target = ""
        if MESH in options.arms:
            target = (await lifetimes.enter_async_context(processes.mesh(upstream))).target
        encoder = await asyncio.to_thread(embedding.load, ENCODER, processes.ROOT / "models")
        batched = await lifetimes.enter_async_context(embedding.BatchedEncoder(encoder))
        state = Path(lifetimes.enter_context(tempfile.TemporaryDirectory(prefix="headway-bench-")))
        knowledge = await asyncio.to_thread(known, domain, encoder, batched, state)
        around = Surroundings(
            anthropic=upstream.anthropic_url,
            openai=upstream.openai_url,
            web=upstream.web_url,
            vectors=f"{upstream.url}/vectors",
            mesh=target,
            clock=time.monotonic,
            time_of_day=lambda: datetime.now(UTC).isoformat(timespec="seconds"),
        )
        arms = await lifetimes.enter_async_context(assembled(options.arms, around, knowledge, domain, asked))
        samples, recording = await _measured(arms, planned, options, console)
    figures = report.figures(samples, seed=options.seed)
    return _written(figures, samples, recording, began, options, console)


async def _measured(
    arms: Mapping[str, Arm], planned: Sequence[Turn], options: argparse.Namespace, console: Console
) -> tuple[dict[str, list[Outcome]], load.Recording]:
    samples: dict[str, list[Outcome]] = {name: [] for name in options.arms}

    async def call(number: int) -> load.Answer:
        turn = planned[number]
        outcome = await _outcome(arms[turn.arm], turn, give_up=QUICK_GIVE_UP if options.quick else GIVE_UP)
        if turn.recorded:
            samples[turn.arm].append(outcome)
        return load.Answer(items=outcome.items, error=outcome.error)

    instants = list(islice(poisson(options.rate, Random(options.seed)), len(planned)))
    recorded = sum(turn.recorded for turn in planned)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("Measuring", total=len(planned))
        recording = await load.generate(
            call,
            iter(instants),
            load.Plan(
                warmup=instants[len(planned) - recorded],
                most=recorded,
                late_limit=LATE_LIMIT,
                late_share=max(LATE_SHARE, LATE_ANYWAY / recorded),
            ),
            watch=lambda now: progress.update(task, completed=now.sent - now.in_flight),
        )
    return samples, recording


async def _outcome(arm: Arm, turn: Turn, *, give_up: float) -> Outcome:
    began = time.monotonic()
    try:
        async with asyncio.timeout(give_up):
            return await arm.answer(turn.query)
    except TimeoutError:
        error = f"no answer within {give_up:g} s"
    except _CALL_FAILURES as fault:
        error = type(fault).__name__
    except ExceptionGroup as group:
        expected, others = group.split(_CALL_FAILURES)
        if others is not None or expected is None:
            raise
        error = type(_first(expected)).__name__
    return Outcome(
        ttft=None, ttf_item=None, total=time.monotonic() - began, items=0, usage=Usage(), error=error or "failed"
    )


def _first(fault: BaseException) -> BaseException:
    return _first(fault.exceptions[0]) if isinstance(fault, BaseExceptionGroup) else fault


def _written(
    figures: dict[str, Any],
    samples: Mapping[str, Sequence[Outcome]],
    recording: load.Recording,
    began: Mapping[str, Any],
    options: argparse.Namespace,
    console: Console,
) -> int:
    how = {
        "seed": options.seed,
        "scenario": SCENARIO,
        "rate": options.rate,
        "items": options.items,
        "requests_each": options.requests,
        "warmup_each": options.warmup_rounds,
        "quick": options.quick,
        "sent_late_ms_p99": round(recording.lateness.get_value_at_percentile(99) / 1000, 1),
    }
    target: Path = options.output
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(orjson.dumps({**began, **how, **figures}, option=orjson.OPT_INDENT_2) + b"\n")
    first_items = {
        name: [each.ttf_item * 1000 for each in outcomes if not each.error and each.ttf_item is not None]
        for name, outcomes in samples.items()
    }
    plots.draw(figures, first_items, svg=target.with_suffix(".svg"), png=target.with_suffix(".png"))
    report_text.show(figures, console)
    console.print(f"Written: {target}, and beside it the plot as .svg and .png.")
    failed = {name: arm["failures"] for name, arm in figures["arms"].items() if arm["failures"]}
    for name, failures in failed.items():
        console.print(f"[red]{name}[/] failed: {failures}")
    sent = sum(arm["n"] + arm["failed"] for arm in figures["arms"].values())
    if sum(arm["failed"] for arm in figures["arms"].values()) > MOST_FAILED_SHARE * sent:
        console.print(f"[bold red]More than {MOST_FAILED_SHARE:.0%} of the answers failed: not to be reported.[/]")
        return NOT_REPORTED
    return 0


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


if __name__ == "__main__":
    sys.exit(main())
