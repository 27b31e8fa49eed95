"""What the mesh itself costs: ``python -m bench.mesh [--quick]`` against simulators that take no time.

Asks the mesh, and asks the same simulator the same prompts without the mesh, one request at a time and with 8 and 32 in
flight. What the mesh adds is the difference of the two, quantile by quantile. Writes ``bench/results/mesh.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import machine, mesh_direct, mesh_figures
from bench.mesh_levels import MESH, Arm, Level, Measured, measured
from bench.mesh_prompts import Recorded, Unexpected, recorded
from bench.mesh_samples import Sample
from bench.processes import CannotStart, Running, started
from headway.load_calls import RecommendCalls, built_in

RESULT = Path(__file__).parent / "results" / "mesh.json"
DEADLINE = 30.0
"""Seconds. Far beyond what any request here takes, so that no deadline changes what is asked of the provider."""
FULL = (
    Level(name="sequential", in_flight=1, block=25, blocks=12),
    Level(name="in_flight_8", in_flight=8, block=64, blocks=8),
    Level(name="in_flight_32", in_flight=32, block=160, blocks=4),
)
QUICK = (
    Level(name="sequential", in_flight=1, block=10, blocks=4),
    Level(name="in_flight_8", in_flight=8, block=32, blocks=2),
    Level(name="in_flight_32", in_flight=32, block=96, blocks=1),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 69 when the mesh cannot be started or measured."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(typed)
    levels = QUICK if options.quick else FULL
    to = Console(highlight=False)
    to.print(f"Starting simulators without delay and four services; measuring takes about {_minutes(levels)}.")
    found: dict[str, Any] = {}
    try:
        found = uvloop.run(measure(levels, to))
    except* (CannotStart, Unexpected) as faults:
        print(faults.exceptions[0], file=sys.stderr)
    if not found:
        return 69
    mesh_figures.show(found, [level.name for level in levels], to)
    write(options.output, machine.facts("bench.mesh", typed) | found)
    to.print(f"Written: {options.output}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.mesh", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests: half a minute, and rougher figures")
    parser.add_argument("--output", type=Path, default=RESULT, help="where the figures go (default: %(default)s)")
    return parser


def _minutes(levels: Sequence[Level]) -> str:
    return "half a minute" if levels is QUICK else "four minutes"


async def measure(levels: Sequence[Level], to: Console) -> dict[str, Any]:
    """Runs all levels. Raises CannotStart and Unexpected."""
    async with started(scenario="zero") as running:
        async with grpc.aio.insecure_channel(running.target, options=[("grpc.enable_http_proxy", 0)]) as channel:
            calls = RecommendCalls(channel, iter(()), deadline=DEADLINE)
            prompts = await recorded(built_in(), calls.ask, running.upstream.url)
            async with mesh_direct.clients(running.upstream.anthropic_url) as clients:
                arms: dict[str, Arm] = {
                    MESH: partial(_through_mesh, calls, prompts),
                    "direct": partial(_directly, clients["typed"], mesh_direct.typed_texts, prompts),
                    "direct_raw": partial(_directly, clients["raw"], mesh_direct.raw_texts, prompts),
                }
                results = await _run(levels, arms, running, to)
            rss_mb = {name: each.rss_mb for name, each in running.used().items()}
    per_request = sum(len(each.bodies) for each in prompts) / len(prompts)
    return mesh_figures.figures(results, rss_mb, round(per_request, 2))


async def _run(levels: Sequence[Level], arms: Mapping[str, Arm], running: Running, to: Console) -> list[Measured]:
    with _progress(levels, len(arms), to) as (bar, task):
        results = []
        for level in levels:
            bar.update(task, description=level.name)
            results.append(await measured(level, arms, running, partial(bar.advance, task)))
        return results


@contextmanager
def _progress(levels: Sequence[Level], arms: int, to: Console) -> Iterator[tuple[Progress, Any]]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=to, transient=True, disable=not to.is_terminal) as bar:
        yield bar, bar.add_task("", total=arms * sum(level.requests for level in levels))


async def _through_mesh(calls: RecommendCalls, prompts: Sequence[Recorded], number: int) -> Sample:
    request = prompts[number % len(prompts)].request
    began = time.monotonic()  # the clock of the calls
    answer = await calls.ask(request)
    total = time.monotonic() - began
    if answer.error or answer.first_item_at is None or "extractive" in answer.tiers:
        raise Unexpected(f"the mesh did not answer {request.query!r} with a model's items: {answer}")
    return Sample(first_item=answer.first_item_at - began, total=total, items=answer.items)


async def _directly(client: Any, texts: mesh_direct.Texts, prompts: Sequence[Recorded], number: int) -> Sample:
    return await mesh_direct.ask(client, texts, prompts[number % len(prompts)].bodies)


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Replaces the file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


if __name__ == "__main__":
    sys.exit(main())
