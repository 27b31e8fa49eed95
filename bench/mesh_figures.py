"""What was measured of the mesh, as figures with fixed keys and as a table.

Decides which level speaks for the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.mesh_levels import MESH, Measured
from bench.mesh_samples import difference
from bench.processes import SERVICES

BASELINE = "direct"
COST_LEVEL = "in_flight_8"
"""Processor time a request is stated for this level: busy, not saturated."""


def figures(levels: Sequence[Measured], rss_mb: Mapping[str, float], calls_per_request: float) -> dict[str, Any]:
    """All figures but those of the machine. ``added_...`` is the mesh's quantile less the same one of the baseline."""
    by_level = {each.level.name: _level(each) for each in levels}
    fastest = max(by_level, key=lambda name: by_level[name]["requests_per_second"])
    return {
        "n": sum(level["n"] for level in by_level.values()),
        "calls_per_request": calls_per_request,
        **by_level,
        "cpu_ms_per_request": by_level[COST_LEVEL]["cpu_ms_per_request"],
        "cpu_ms": by_level[COST_LEVEL]["cpu_ms"],
        "cpu_at": COST_LEVEL,
        "requests_per_second": by_level[fastest]["requests_per_second"],
        "requests_per_second_at": fastest,
        "rss_mb": {name: round(value, 1) for name, value in rss_mb.items()},
    }


def _level(measured: Measured) -> dict[str, Any]:
    samples = measured.samples
    mesh = samples[MESH]
    cpu = {name: round(seconds * 1000 / mesh.made, 2) for name, seconds in measured.cpu.items()}
    services = {name: cpu[name] for name in SERVICES}
    arms: dict[str, dict[str, Any]] = {
        name: {
            "first_item_ms": each.first_item_ms(),
            "total_ms": each.total_ms(),
            "requests_per_second": round(each.per_second, 2),
            "items_per_request": each.items_per_request(),
        }
        for name, each in samples.items()
    }
    added = {}
    for name in samples:
        if name != MESH:
            over = "added" if name == BASELINE else f"added_over_{name}"
            for what in ("first_item_ms", "total_ms"):
                added[f"{over}_{what}"] = difference(arms[MESH][what], arms[name][what])
    return {
        "n": len(mesh.kept),
        **added,
        "cpu_ms_per_request": round(sum(services.values()), 2),
        "cpu_ms": services,
        "cpu_ms_beside": {name: cpu[name] for name in cpu if name not in SERVICES},
        "requests_per_second": arms[MESH]["requests_per_second"],
        **arms,
    }


def show(found: Mapping[str, Any], levels: Sequence[str], to: Console) -> None:
    """Prints the figures; fits 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("ms", "first p50", "p99", "whole p50", "p99", "req/s"):
        table.add_column(heading, justify="left" if heading == "ms" else "right", no_wrap=True)
    for name in levels:
        level = found[name]
        table.add_row(f"{name.replace('_', ' ')}, n {level['n']}", style="bold")
        for arm in [key for key, value in level.items() if isinstance(value, dict) and "first_item_ms" in value]:
            table.add_row(f"  {arm.replace('_', ' ')}", *_cells(level[arm], "{:.1f}"), _rate(level[arm]))
        for over in [key.removesuffix("_first_item_ms") for key in level if key.endswith("_first_item_ms")]:
            pair = {what: level[f"{over}_{what}"] for what in ("first_item_ms", "total_ms")}
            table.add_row(f"  {over.replace('_', ' ')}", *_cells(pair, "{:+.1f}"))
    to.print(table)
    shown = ", ".join(f"{name} {value:.1f}" for name, value in found["cpu_ms"].items())
    to.print(f"CPU: {found['cpu_ms_per_request']:.1f} ms a request at {found['cpu_at']} ({shown})")
    to.print(
        f"Provider calls: {found['calls_per_request']:.1f} a request. "
        f"Capacity: {found['requests_per_second']:.1f} requests a second ({found['requests_per_second_at']}), "
        "with the simulators and the caller on the same machine"
    )
    to.print("Memory, MB: " + ", ".join(f"{name} {value:.0f}" for name, value in found["rss_mb"].items()))


def _cells(arm: Mapping[str, Any], form: str) -> Iterator[str]:
    return (form.format(arm[what][quantile]) for what in ("first_item_ms", "total_ms") for quantile in ("p50", "p99"))


def _rate(arm: Mapping[str, Any]) -> str:
    return f"{arm['requests_per_second']:.1f}"
