"""The figures of a load run as a table for a person. Decides how they look; measures nothing."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table

from headway.cli.terminal import harmless
from headway.load_report import Quantiles, Report

COLUMNS = ("p50", "p90", "p95", "p99", "max")


def show(report: Report, to: Console) -> None:
    """Prints a report: quantiles in milliseconds, each with its number of samples, then shares and counts."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("ms from when due", no_wrap=True)
    for name in ("n", *COLUMNS):
        table.add_column(name, justify="right", no_wrap=True)
    for label, row in (
        ("first item", report.first_item_ms),
        ("whole answer", report.total_ms),
        ("sent late by", report.lateness_ms),
    ):
        table.add_row(label, *_cells(row))
    to.print(table)
    to.print(
        f"{report.n} calls, {report.rate_sent:.2f} a second; {report.inside_deadline:.1%} ended well within the "
        f"deadline; {report.items_per_call:.1f} items a call, {report.without_item} answers without an item"
    )
    for label, counts in (
        ("written by", report.tiers),
        ("ended", report.finishes),
        ("given up", report.degradations),
        ("failed", report.errors),
    ):
        if counts:
            to.print(f"{label}: {_counted(counts)}")


def _cells(row: Quantiles | None) -> list[str]:
    if row is None:
        return ["0", *("" for _ in COLUMNS)]
    return [str(row.n), *(f"{getattr(row, name):.1f}" for name in COLUMNS)]


def _counted(counts: Mapping[str, int]) -> str:
    return harmless(", ".join(f"{name} {count}" for name, count in counts.items()))
