"""The figures of the pipeline experiment on a terminal. Decides how they look, and nothing about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.arms.techniques import ALONE
from bench.report import FEW


def show(figures: Mapping[str, Any], to: Console) -> None:
    """All of it: the arms, whether savings multiply, the aims."""
    arms: Mapping[str, Any] = figures["arms"]
    to.print(_table(arms))
    if any(name.startswith(ALONE) for name in arms):
        to.print("[dim]· naive with this technique alone[/]")
    fewest = min((arm["n"] for arm in arms.values()), default=0)
    if fewest < FEW:
        to.print(f"[dim]With {fewest} answers an arm, p95 and p99 are little more than the slowest of them.[/]")
    to.print(f"Do the techniques multiply? {figures['multiplication']['says']}.")
    for name, value in figures["ratios"].items():
        low, high = figures["ratios_ci95"][name]
        to.print(f"{name} = [bold]{value:g}[/]  (95 % between {low:g} and {high:g})")
    for aim in figures["aims"]:
        to.print(_aim(aim))


def _table(arms: Mapping[str, Any]) -> Table:
    title = "Seconds to the first token, the first item and the end; tokens; US cents"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    heads = (
        "token\np50",
        "item\np50",
        "\np95",
        "\np99",
        "whole\np50",
        "\np95",
        "in\np50",
        "out\np50",
        "cents\np50",
        "fail",
    )
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for name, arm in arms.items():
        table.add_row(
            name.replace(ALONE, "· "),
            _at(arm, "ttft_ms", "p50", 2, 1e-3),
            *(_at(arm, "ttf_item_ms", cut, 2, 1e-3) for cut in ("p50", "p95", "p99")),
            *(_at(arm, "total_ms", cut, 2, 1e-3) for cut in ("p50", "p95")),
            _at(arm, "input_tokens", "p50", 0),
            _at(arm, "output_tokens", "p50", 0),
            _at(arm, "cost_usd", "p50", 2, 100),
            str(arm["failed"] or ""),
        )
    return table


def _at(arm: Mapping[str, Any], measure: str, cut: str, decimals: int, factor: float = 1.0) -> str:
    return f"{arm[measure][cut] * factor:.{decimals}f}" if measure in arm else "-"


def _aim(aim: Mapping[str, Any]) -> str:
    if aim["met"] is None:
        return f"[yellow]not measured[/]  {aim['aim']}"
    word = "[green]met[/]" if aim["met"] else "[bold red]MISSED[/]"
    return f"{word}  {aim['aim']}: {aim['measured']:g}"
