"""Writes the figures of the README from the results under ``bench/results``.

    python -m bench.readme            rewrite what stands between the marks
    python -m bench.readme --check    exit with 1 when that would change anything

Decides which figures a reader sees first. Measures nothing: a result that is not there is left out, and says so.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
README = ROOT / "README.md"
BEGIN = "<!-- figures:begin (python -m bench.readme writes what stands between these marks) -->"
END = "<!-- figures:end -->"
SERVICES = ("router", "retrieval", "generator", "orchestrator")
AIMED_FIRST_ITEM_MS = 8
AIMED_CPU_MS = 15
DEADLINES = (("deadline_5s", "5 s"), ("deadline_800ms", "800 ms"), ("deadline_150ms", "150 ms"))

ARMS = {
    "naive": "what people write first: everything remote, serial, one large call, not streamed",
    "pooling": "+ connections kept and warmed",
    "local": "+ embedding and vector search in the process",
    "parallel": "+ catalogue and web at once, the web with a limit",
    "compressed": "+ records cut to what the prompt needs",
    "prompt_cache": "+ static prefix first, cache controls",
    "item_streaming": "+ each item sent when it is complete",
    "lean_schema": "+ only the fields that are shown",
    "divide": "+ one call per section, in parallel",
    "early_start": "+ writing starts on the catalogue's records",
    "tiering": "+ small model for simple queries",
    "mesh": "**the product over gRPC, all of it**",
    "floor": "the least possible: one direct call for each first item",
}


def figures() -> str:
    """The section as Markdown; a result that is missing is named with its command."""
    lines = ["## Figures", ""]
    for name, command, table in (
        ("pipeline", "make bench-pipeline", _pipeline),
        ("scenario", "python -m bench.scenario", _scenario),
        ("mesh", "make bench-mesh", _mesh),
    ):
        path = RESULTS / f"{name}.json"
        if path.exists():
            lines += [*table(json.loads(path.read_text(encoding="utf-8"))), ""]
        else:
            lines += [f"(not measured yet: `{command}`)", ""]
    return "\n".join(lines)


def rewritten(text: str) -> str:
    """The README with the figures between its marks. Raises ValueError when the marks are not there."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError("the README has lost its marks for the figures")
    return f"{head}{BEGIN}\n{figures()}{END}{tail}"


def _pipeline(found: Mapping[str, Any]) -> Iterator[str]:
    arms, ratios = found["arms"], found["ratios"]
    yield "**What each technique is worth**: real code for each arm against the same seeded simulators and queries."
    yield f"Each row adds to the one above it. {found['items']} items an answer, {_made(found)}."
    yield ""
    yield "| arm | first item p50 / p95 | whole answer p50 / p95 | input tokens | cents | n |"
    yield "|---|---|---|---|---|---|"
    for name, what in ARMS.items():
        if name in arms:
            yield f"| `{name}`: {what} | {_arm(arms[name])} |"
    yield ""
    yield (
        f"The mesh's first item takes {ratios['mesh_over_floor_ttf_item_p50']:.2f} times the least possible, comes "
        f"{ratios['naive_over_mesh_ttf_item_p50']:.1f} times sooner than the naive pipeline's, and the whole answer "
        f"{ratios['naive_over_mesh_total_p50']:.1f} times sooner (medians, within one run)."
    )
    yield ""
    yield "![What each technique saved, and the distribution of first items](bench/results/pipeline.svg)"


def _arm(arm: Mapping[str, Any]) -> str:
    first, whole = arm["ttf_item_ms"], arm["total_ms"]
    return " | ".join(
        (
            f"{first['p50'] / 1000:.2f} / {first['p95'] / 1000:.2f} s",
            f"{whole['p50'] / 1000:.2f} / {whole['p95'] / 1000:.2f} s",
            f"{arm['input_tokens']['p50']:.0f}",
            f"{arm['cost_usd']['p50'] * 100:.2f}",
            str(arm["n"]),
        )
    )


def _scenario(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"**From the caller, on an ordinary simulated day** (open loop; {_made(found)}):"
    yield ""
    yield "| deadline | inside it | items | first item p50 / p99 | whole answer p50 / p99 | written by | n |"
    yield "|---|---|---|---|---|---|---|"
    for key, shown in DEADLINES:
        if key not in found:
            continue
        each = found[key]
        tiers = ", ".join(f"{tier} {count / each['items']:.0%}" for tier, count in sorted(each["tiers"].items()))
        first, whole = each["first_item_ms"], each["total_ms"]
        yield (
            f"| {shown} | {each['inside_deadline']:.1%} | {each['items_per_call']:g} "
            f"| {first['p50']:.0f} / {first['p99']:.0f} ms | {whole['p50']:.0f} / {whole['p99']:.0f} ms "
            f"| {tiers} | {each['n']} |"
        )


def _mesh(found: Mapping[str, Any]) -> Iterator[str]:
    yield "**What the mesh itself costs**: upstreams without any delay, against calling the same simulator directly"
    yield f"with the same prompts ({_made(found)}; services, simulators and caller share the cores):"
    yield ""
    yield (
        "| in flight | added to the first item p50 / p99 | the same, over raw bytes | whole answer p50 / p99 "
        "| CPU a request | requests/s |"
    )
    yield "|---|---|---|---|---|---|"
    for key, shown in (("sequential", "1"), ("in_flight_8", "8"), ("in_flight_32", "32")):
        level = found[key]
        added, raw, whole = level["added_first_item_ms"], level["added_over_direct_raw_first_item_ms"], level["mesh"]
        yield (
            f"| {shown} | {added['p50']:+.1f} / {added['p99']:+.1f} ms | {raw['p50']:+.1f} / {raw['p99']:+.1f} ms "
            f"| {whole['total_ms']['p50']:.0f} / {whole['total_ms']['p99']:.0f} ms "
            f"| {level['cpu_ms_per_request']:.1f} ms | {level['requests_per_second']:.1f} |"
        )
    yield ""
    cpu = ", ".join(f"{name} {found['cpu_ms'][name]:.1f}" for name in SERVICES)
    memory = ", ".join(f"{name} {found['rss_mb'][name]:.0f}" for name in SERVICES)
    yield f"CPU in ms a request with 8 in flight: {cpu}. Memory in MB: {memory}."
    first, spent = found["sequential"]["added_first_item_ms"]["p50"], found["cpu_ms_per_request"]
    yield (
        f"Aimed at were {AIMED_FIRST_ITEM_MS} ms added to the first item sequentially (p50) and {AIMED_CPU_MS} ms of "
        f"CPU a request: {_verdict(first, AIMED_FIRST_ITEM_MS)} and {_verdict(spent, AIMED_CPU_MS)}."
    )
    yield "Where the CPU goes, and what was tried: [docs/guides/measuring.md](docs/guides/measuring.md)."


def _verdict(measured: float, aim: float) -> str:
    return "met" if measured <= aim else f"missed by {measured - aim:.1f} ms"


def _made(found: Mapping[str, Any]) -> str:
    machine = found["machine"]
    return f"`{found['command']}`, {machine['cpu']}, {machine['cores']} cores, {found['date'][:10]}"


def main() -> int:
    """Exit code: 0 when the README is up to date or was rewritten, 1 when ``--check`` found it is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, say by the exit code")
    options = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    fresh = rewritten(text)
    if options.check:
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
