"""What watching costs: processor time per request of a mesh that is traced, beside one that is not.

    python -m bench.telemetry [--rounds 6] [--turns 60] [--block 8]

Each round starts two meshes anew, on the same simulators that take no time: one with a collector to send traces to, one
without. They are asked in turn, block by block, in three ways: ``off`` is the mesh without a collector, ``left_out``
the other one with requests whose caller decided against recording, ``on`` the same with every request recorded. ``on``
against ``off`` is the whole cost, blurred by what tells one process from another; ``on`` against ``left_out`` is what
recording costs within the same processes. Compared are blocks of one turn, and only when the same work was done in
them: as many calls to providers and as many items. Writes ``bench/results/telemetry.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import secrets
import statistics
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import uvloop
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from bench import machine
from bench.processes import CannotStart, Running, Upstream, mesh, simulators
from headway.v1 import recommendation_pb2, recommendation_pb2_grpc

RESULT = Path(__file__).parent / "results" / "telemetry.json"
LIMIT_PERCENT = 3.0
QUERIES = (
    "제주도 3박4일 가족여행",
    "3-day Tokyo trip with kids",
    "부산 1박2일 커플 여행 추천",
    "Jeju hiking, 3 nights",
)
DEADLINE = 30.0
WARM_UP = 120
IN_FLIGHT = 2
RESAMPLES = 2_000
SECONDS_PER_REQUEST = 0.03
QUIET = {"HEADWAY_LOG_LEVEL": "warning", "HEADWAY_GENERATOR_FIRST_ITEM_WITHIN": "20s"}
"""The wish is far off, so that a busy machine does not make one mesh choose other rungs than the other."""
ARMS = ("off", "left_out", "on")


@dataclass(slots=True)
class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Counts spans and throws them away."""

    spans: int = 0
    url: str = ""

    async def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - named by OTLP
        self.spans += sum(len(scope.spans) for each in request.resource_spans for scope in each.scope_spans)
        return trace_service_pb2.ExportTraceServiceResponse()


@dataclass(slots=True)
class Work:
    """What was done for a block."""

    attempts: int = 0
    items: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """CPU milliseconds per request by service, and what was done for them."""

    used: Mapping[str, float]
    work: Work

    @property
    def total(self) -> float:
        """Of all services."""
        return sum(self.used.values())


Turn = Mapping[str, Block]
"""One block of each arm."""


@dataclass(slots=True)
class Found:
    """All turns, those in which not all arms did the same work, and what was traced."""

    turns: list[Turn] = field(default_factory=list)
    unequal: int = 0
    spans: int = 0
    traced: int = 0

    def above(self, arm: str, against: str) -> list[float]:
        """How many per cent more one arm used than another, turn by turn."""
        return [(turn[arm].total / turn[against].total - 1) * 100 for turn in self.turns]


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector on a free port."""
    collector = Collector()
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    collector.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(None)


async def measure(*, rounds: int, turns: int, block: int) -> Found:
    """Runs all rounds. Raises CannotStart, and grpc.aio.AioRpcError when a request fails."""
    found = Found()
    async with simulators(scenario="zero") as upstream, collecting() as collector:
        for number in range(rounds):
            await _round(upstream, collector, found, turns=turns, block=block)
            so_far = statistics.median(found.above("on", "off")) if found.turns else float("nan")
            print(f"round {number + 1} of {rounds}: {so_far:+.2f} % so far", flush=True)
    return found


async def _round(upstream: Upstream, collector: Collector, found: Found, *, turns: int, block: int) -> None:
    tracing = QUIET | {"HEADWAY_OTLP_ENDPOINT": collector.url}
    async with mesh(upstream, environment=QUIET) as plain, mesh(upstream, environment=tracing) as traced:
        asked = {"off": plain, "left_out": traced, "on": traced}
        for arm, running in asked.items():
            await _asked(running, arm, WARM_UP)
        order = list(ARMS)
        for _ in range(turns):
            order.append(order.pop(0))  # each arm comes first as often as any other
            turn = {arm: await _asked(asked[arm], arm, block) for arm in order}
            if len({(each.work.attempts, each.work.items) for each in turn.values()}) == 1:
                found.turns.append(turn)
            else:
                found.unequal += 1
    # Leaving sent the last batches.
    found.traced += WARM_UP + turns * block
    found.spans = collector.spans


async def _asked(running: Running, arm: str, requests: int) -> Block:
    work, before = Work(), _used(running)
    async with grpc.aio.insecure_channel(running.target, options=[("grpc.enable_http_proxy", 0)]) as channel:
        stub: Any = recommendation_pb2_grpc.RecommendationServiceStub(channel)
        numbers = iter(range(requests))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(IN_FLIGHT):
                tasks.create_task(_ask(stub, arm, numbers, work))
    after = _used(running)
    return Block(used={name: (after[name] - before[name]) / requests * 1e3 for name in after}, work=work)


async def _ask(stub: Any, arm: str, numbers: Iterator[int], work: Work) -> None:
    for number in numbers:
        request = recommendation_pb2.RecommendRequest(query=QUERIES[number % len(QUERIES)])
        # The same header in every arm, so that the callers of all do the same.
        flags = "01" if arm == "on" else "00"
        header = f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-{flags}"
        async for event in stub.Recommend(request, timeout=DEADLINE, metadata=(("traceparent", header),)):
            work.items += event.HasField("item")
            work.attempts += sum(len(stage.attempts) for stage in event.summary.ledger)


def _used(running: Running) -> dict[str, float]:
    """CPU seconds of each service so far, all its threads, to the nanosecond: the usual counts are in hundredths of a
    second, too coarse for short blocks.
    """
    return {name: sum(map(_seconds, Path(f"/proc/{pid}/task").iterdir())) for name, pid in running.pids.items()}


def _seconds(thread: Path) -> float:
    try:
        return int((thread / "schedstat").read_text().split()[0]) / 1e9
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0.0


def figures(found: Found) -> dict[str, Any]:
    """The result as it is written."""
    return {
        "limit_percent": LIMIT_PERCENT,
        **_compared("extra_percent", found.above("on", "off")),
        **_compared("recording_percent", found.above("on", "left_out")),
        "cpu_ms_per_request": {arm: _median(turn[arm].total for turn in found.turns) for arm in ARMS},
        "cpu_ms_per_request_by_service": {
            name: {arm: _median(turn[arm].used[name] for turn in found.turns) for arm in ARMS}
            for name in found.turns[0]["off"].used
        },
        "turns": len(found.turns),
        "turns_with_unequal_work": found.unequal,
        "requests_traced": found.traced,
        "spans_per_request": round(found.spans / found.traced, 1),
    }


def _compared(name: str, above: Sequence[float]) -> dict[str, Any]:
    low, high = interval(above)
    return {name: round(statistics.median(above), 2), f"{name}_ci95": [round(low, 2), round(high, 2)]}


def _median(values: Iterator[float]) -> float:
    return round(statistics.median(values), 2)


def interval(values: Sequence[float], *, seed: int = 1) -> tuple[float, float]:
    """95 % of the medians of resamples (percentile bootstrap, Efron 1979)."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[round(0.025 * RESAMPLES)], medians[round(0.975 * RESAMPLES) - 1]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 when tracing costs more than the limit, 69 when a mesh cannot be started or asked."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(typed)
    requests = options.rounds * len(ARMS) * (WARM_UP + options.turns * options.block)
    minutes = max(1, round(requests * SECONDS_PER_REQUEST / 60 + options.rounds / 4))
    print(f"{requests} requests to two meshes that are started {options.rounds} times: about {minutes} minutes.")
    found = Found()
    try:
        found = uvloop.run(measure(rounds=options.rounds, turns=options.turns, block=options.block))
    except (CannotStart, grpc.aio.AioRpcError) as fault:
        print(fault, file=sys.stderr)
    if not found.turns:
        print("No turn in which the meshes did the same work: is the machine too busy?", file=sys.stderr)
        return 69
    result = machine.facts("bench.telemetry", typed) | figures(found)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for name in ("extra_percent", "recording_percent"):
        print(f"{name}: {result[name]:+.2f}, 95 % of resamples within {result[f'{name}_ci95']}")
    print(f"Written: {options.output}")
    return int(result["extra_percent"] > LIMIT_PERCENT)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.telemetry", description=__doc__)
    parser.add_argument("--rounds", type=int, default=6, help="times both meshes are started (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=60, help="blocks of each arm in a round (default: %(default)s)")
    parser.add_argument("--block", type=int, default=8, help="requests in a block (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULT, help="where the figures go (default: %(default)s)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
