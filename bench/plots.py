"""The pipeline experiment as pictures: what each step saved, and the distribution of first items.

Decides how it looks. Draws without a screen; the same figures give the same file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from bench.arms.techniques import FLOOR, MESH, NAIVE, STEPS

SAVED, LOST, WHOLE, REFERENCE, OTHER = "#2a9d8f", "#e76f51", "#264653", "#e9a23b", "#b0b7bd"
TICKS_MS = (200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10000, 15000, 20000, 30000)
_TITLES = {
    NAIVE: "naive",
    "pooling": "+ pooled, warm connections",
    "local": "+ embedding and search in process",
    "parallel": "+ web search in parallel, limited",
    "compressed": "+ records cut to facts",
    "prompt_cache": "+ prompt cache",
    "item_streaming": "+ items streamed",
    "lean_schema": "+ only fields that are shown",
    "divide": "+ one call per section",
    "early_start": "+ start before the web",
    "tiering": "+ small model if simple",
    MESH: "the mesh over gRPC",
    FLOOR: "floor: a bare call of the SDK",
}


def draw(figures: Mapping[str, Any], first_items: Mapping[str, Sequence[float]], *, svg: Path, png: Path) -> None:
    """Writes both files. `first_items` are milliseconds by arm."""
    with matplotlib.rc_context({"svg.hashsalt": "headway", "font.size": 10, "axes.spines.top": False}):
        figure = Figure(figsize=(11, 12.5), layout="constrained")
        above, below = figure.subplots(2, 1, height_ratios=(1.15, 1))
        _waterfall(above, figures["arms"])
        _distributions(below, first_items)
        figure.savefig(svg, metadata={"Date": None})
        figure.savefig(png, dpi=130)


def _waterfall(axes: Axes, arms: Mapping[str, Any]) -> None:
    order = [name for name in (NAIVE, *STEPS, MESH, FLOOR) if "ttf_item_ms" in arms.get(name, {})]
    values = [float(arms[name]["ttf_item_ms"]["p50"]) for name in order]
    widest = max(values, default=1.0)
    for row, (name, value) in enumerate(zip(order, values, strict=True)):
        if name in (NAIVE, MESH, FLOOR) or row == 0:
            color = {NAIVE: WHOLE, MESH: WHOLE, FLOOR: REFERENCE}.get(name, WHOLE)
            axes.barh(row, value, color=color, height=0.72)
            _write(axes, row, value, _compared(name, value, arms), widest)
            continue
        before = values[row - 1]
        axes.barh(row, before - value, left=value, color=SAVED if value <= before else LOST, height=0.72)
        axes.plot([before, before], [row - 1.36, row + 0.36], color="#8a9299", linewidth=0.8)
        change = before - value
        share = f"{abs(change) / before:.0%}"
        said = f"{'−' if change >= 0 else '+'}{_seconds(abs(change))} ({share})  →  {_seconds(value)}"
        _write(axes, row, max(before, value), said, widest)
    axes.set_yticks(range(len(order)), [_TITLES[name] for name in order])
    axes.invert_yaxis()
    axes.set_xlim(0, widest * 1.22)
    axes.spines["right"].set_visible(False)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g} s"))
    axes.grid(axis="x", color="#e4e7e9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title("Time to the first item: what each step saved (medians)", loc="left", fontweight="bold")


def _compared(name: str, value: float, arms: Mapping[str, Any]) -> str:
    """The mesh stands beside naive and the floor, since it is more than one step."""
    said = [_seconds(value)]
    if name == MESH:
        for other, words in ((NAIVE, "{:.1f} times sooner than naive"), (FLOOR, "{:.2f} times the floor")):
            if "ttf_item_ms" in arms.get(other, {}):
                reference = float(arms[other]["ttf_item_ms"]["p50"])
                said.append(words.format(reference / value if other == NAIVE else value / reference))
    return ",  ".join(said)


def _write(axes: Axes, row: int, at: float, text: str, widest: float) -> None:
    axes.text(at + widest * 0.008, row, text, va="center", ha="left", fontsize=9)


def _distributions(axes: Axes, first_items: Mapping[str, Sequence[float]]) -> None:
    order = [name for name in (NAIVE, *STEPS, MESH, FLOOR) if first_items.get(name)]
    colors = matplotlib.colormaps["viridis"](np.linspace(0.05, 0.9, max(1, len(STEPS))))
    for name in order:
        values = np.sort(np.asarray(first_items[name], dtype=float))
        shares = np.arange(1, len(values) + 1) / len(values)
        strong = name in (NAIVE, MESH, FLOOR)
        color = {NAIVE: "#111111", MESH: "#d62828", FLOOR: REFERENCE}.get(name)
        if color is None:
            color = colors[STEPS.index(name)]
        style = "--" if name == FLOOR else "-"
        label = f"{_TITLES[name]} ({_seconds(float(np.median(values)))})"
        width, layer = (2.6, 3) if strong else (1.3, 2)
        axes.step(
            values, shares, where="post", color=color, linestyle=style, linewidth=width, label=label, zorder=layer
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(TICKS_MS)))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g} s"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes.set_ylim(0, 1.01)
    axes.spines["right"].set_visible(False)
    axes.grid(color="#e4e7e9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title("Share of requests whose first item is there (median in brackets)", loc="left", fontweight="bold")
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.07), ncols=3, fontsize=8.5, frameon=False)


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.2f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"
