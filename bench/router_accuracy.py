"""How often a running router finds the right intent: ``python -m bench.router_accuracy PATH... [--target HOST:PORT]``.

Asks the router every utterance of labelled files that others have published (see ``bench.intent_files`` for where to
get them) and prints accuracy by intent and what is taken for what. A file that is not there is passed over and said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import grpc
from rich.console import Console
from rich.table import Table

from bench.intent_files import IntentFileError, Labelled, read
from headway.channel import connected
from headway.v1 import router_pb2, router_pb2_grpc

SERVICE = "headway.v1.RouterService"
TARGET = "127.0.0.1:50052"
LONGEST = 2000
_PATIENCE = 10.0
_SEED = 7
_MOST_EXAMPLES = 3
Confusion = Counter[tuple[str, str]]
"""How many utterances of an intent (first) were taken for an intent (second)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 66 when no file could be read, 69 when the router cannot be reached."""
    options = _parser().parse_args(arguments)
    to = Console(highlight=False)
    measured: dict[str, Any] = {}
    for path in options.files:
        utterances = _utterances(path, options.limit)
        if not utterances:
            continue
        try:
            outcome = asyncio.run(_asked(utterances, options.target, options.in_flight))
        except grpc.aio.AioRpcError as error:
            print(f"The router at {options.target} does not answer ({error.code().name}). Start it with `headway up`.")
            return 69
        measured[path.name] = summary(outcome)
        _show(path.name, outcome, to)
    if options.output and measured:
        options.output.write_text(json.dumps(measured, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return 0 if measured else 66


class Outcome:
    """What the router said of labelled utterances."""

    def __init__(self) -> None:
        self.confusion: Confusion = Counter()
        self.wrong: list[tuple[Labelled, str]] = []
        self.spans: list[float] = []

    def add(self, utterance: Labelled, intent: str, spent: float) -> None:
        """Counts one answer, which took ``spent`` seconds."""
        self.confusion[utterance.intent, intent] += 1
        self.spans.append(spent)
        if intent != utterance.intent:
            self.wrong.append((utterance, intent))


def summary(outcome: Outcome) -> dict[str, Any]:
    """Accuracy by intent, their mean (every intent counts alike), and the median of a call in milliseconds."""
    right = {wanted: outcome.confusion[wanted, wanted] / total for wanted, total in _totals(outcome.confusion).items()}
    return {
        "accuracy": right,
        "mean_accuracy": sum(right.values()) / len(right),
        "utterances": len(outcome.spans),
        "route_p50_ms": sorted(outcome.spans)[len(outcome.spans) // 2] * 1e3,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.router_accuracy", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="PATH", help="labelled utterances: SGD, CLINC or HWU")
    parser.add_argument("--target", default=TARGET, help="where the router listens (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=0, help="ask this many of each file, drawn by chance; 0 asks all")
    parser.add_argument("--in-flight", type=int, default=2, help="calls at once (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the figures there as JSON as well")
    return parser


def _utterances(path: Path, limit: int) -> list[Labelled]:
    """What a file holds of use; nothing, and a sentence why, when it holds nothing."""
    try:
        found = read(path)
    except FileNotFoundError:
        print(f"{path} is not there, so it is passed over; `pydoc bench.intent_files` says where to get it.")
        return []
    except (IntentFileError, OSError) as fault:
        print(f"{fault}; passed over.")
        return []
    usable = [each for each in found if each.intent and 0 < len(each.text.strip()) <= LONGEST]
    print(
        f"{path.name}: {len(usable)} utterances, {len(found) - len(usable)} left out because they fit several intents."
    )
    if limit and limit < len(usable):
        usable = Random(_SEED).sample(usable, limit)
    return usable


async def _asked(utterances: Sequence[Labelled], target: str, in_flight: int) -> Outcome:
    """Raises grpc.aio.AioRpcError when the router does not answer."""
    outcome = Outcome()
    waiting = iter(utterances)
    async with connected(target, SERVICE) as channel:
        stub: Any = router_pb2_grpc.RouterServiceStub(channel)

        async def ask() -> None:
            for utterance in waiting:
                before = time.perf_counter()
                answer = await stub.Route(router_pb2.RouteRequest(query=utterance.text), timeout=_PATIENCE)
                outcome.add(utterance, answer.intent, time.perf_counter() - before)

        await asyncio.gather(*(ask() for _ in range(max(1, in_flight))))
    return outcome


def _totals(confusion: Confusion) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for (wanted, _), count in confusion.items():
        totals[wanted] += count
    return dict(sorted(totals.items()))


def _show(name: str, outcome: Outcome, to: Console) -> None:
    totals, figures = _totals(outcome.confusion), summary(outcome)
    taken_for = sorted({got for _, got in outcome.confusion})
    table = Table(
        title=f"{name}: mean accuracy {figures['mean_accuracy']:.3f}, Route p50 {figures['route_p50_ms']:.1f} ms"
    )
    for heading in ("intent", "accuracy", "of", *(f"→ {got}" for got in taken_for)):
        table.add_column(heading, justify="left" if heading == "intent" else "right")
    for wanted, total in totals.items():
        counts = [str(outcome.confusion[wanted, got] or "") for got in taken_for]
        table.add_row(wanted, f"{figures['accuracy'][wanted]:.3f}", str(total), *counts)
    to.print(table)
    by_kind: Counter[tuple[str, str]] = Counter()
    for utterance, got in outcome.wrong:
        by_kind[utterance.label, got] += 1
    for (label, got), count in by_kind.most_common(5):
        examples = [each.text for each, taken in outcome.wrong if (each.label, taken) == (label, got)][:_MOST_EXAMPLES]
        to.print(f"  {count} × {label} taken for {got}: {' | '.join(examples)}", markup=False)


if __name__ == "__main__":
    sys.exit(main())
