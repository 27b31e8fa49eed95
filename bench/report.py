"""What the pipeline experiment showed, as figures under fixed keys.

Decides quantiles, ratios, what each step saved, whether savings multiply, and whether the aims were met. Pure; knows no
arm but by its name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bench.arms.measured import Outcome
from bench.arms.techniques import ALONE, FLOOR, MESH, NAIVE, STEPS

PERCENTILES = (50, 95, 99)
RESAMPLES = 2_000
FEW = 100
"""With fewer samples a p99 is little more than the slowest of them."""

Samples = Mapping[str, Sequence[Outcome]]

MEASURES: Mapping[str, tuple[Callable[[Outcome], float | None], int]] = {
    "ttft_ms": (lambda each: _ms(each.ttft), 1),
    "ttf_item_ms": (lambda each: _ms(each.ttf_item), 1),
    "total_ms": (lambda each: _ms(each.total), 1),
    "input_tokens": (lambda each: each.usage.input_tokens, 0),
    "output_tokens": (lambda each: each.usage.output_tokens, 0),
    "cost_usd": (lambda each: each.usage.cost_usd, 6),
}
"""What is reported of an arm, and to how many decimals."""

RATIOS: Mapping[str, tuple[str, str, str]] = {
    "mesh_over_floor_ttf_item_p50": (MESH, FLOOR, "ttf_item_ms"),
    "naive_over_mesh_ttf_item_p50": (NAIVE, MESH, "ttf_item_ms"),
    "naive_over_mesh_total_p50": (NAIVE, MESH, "total_ms"),
}
"""Of medians: the arm above the line, the one below it, the measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What the experiment is to show. `low` and `high` bound the figure."""

    says: str
    figure: str
    low: float = 0.0
    high: float = math.inf


AIMS = (
    Aim(says="naive takes 5 to 8 s", figure="arms.naive.total_ms.p50", low=5000.0, high=8000.0),
    Aim(
        says="the mesh's first item comes within 1.10 times the floor's",
        figure="ratios.mesh_over_floor_ttf_item_p50",
        high=1.10,
    ),
    Aim(
        says="the mesh's first item comes 6 times sooner than naive's",
        figure="ratios.naive_over_mesh_ttf_item_p50",
        low=6.0,
    ),
    Aim(
        says="the mesh's whole answer comes 2.5 times sooner than naive's",
        figure="ratios.naive_over_mesh_total_p50",
        low=2.5,
    ),
)


def figures(samples: Samples, *, seed: int) -> dict[str, Any]:
    """All that is reported of a run; arms without a whole answer have no figures but their failures."""
    arms = {name: _arm(outcomes) for name, outcomes in samples.items()}
    found: dict[str, Any] = {"arms": arms}
    found["ratios"] = {name: _ratio(arms, *between) for name, between in RATIOS.items() if _both(arms, *between[:2])}
    found["ratios_ci95"] = {
        name: _interval(samples, *RATIOS[name], rng=np.random.default_rng(seed)) for name in found["ratios"]
    }
    found["steps"] = _steps(arms)
    found["multiplication"] = _multiplication(arms)
    found["aims"] = [_judged(aim, found) for aim in AIMS]
    return found


def _arm(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    whole = [each for each in outcomes if not each.error]
    arm: dict[str, Any] = {"n": len(whole), "failed": len(outcomes) - len(whole)}
    arm["failures"] = dict(Counter(each.error for each in outcomes if each.error))
    arm["tiers"] = dict(Counter("+".join(sorted(each.tiers)) for each in whole))
    arm["items"] = round(float(np.mean([each.items for each in whole])), 2) if whole else 0.0
    for name, (measure, decimals) in MEASURES.items():
        values = [value for each in whole if (value := measure(each)) is not None]
        if values:
            cuts = np.percentile(values, PERCENTILES, method="linear")
            arm[name] = {f"p{cut}": round(float(value), decimals) for cut, value in zip(PERCENTILES, cuts, strict=True)}
    read = [each.usage.cache_read_tokens for each in whole]
    arm["cache_read_share"] = round(sum(read) / max(1, sum(each.usage.input_tokens for each in whole)), 3)
    arm["marks_ms_p50"] = _marks(whole)
    return arm


def _marks(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """When else something had happened, in the order in which it did."""
    names = {name for each in outcomes for name in each.marks}
    medians = {
        name: round(float(np.median([each.marks[name] for each in outcomes if name in each.marks])) * 1000, 1)
        for name in names
    }
    return dict(sorted(medians.items(), key=lambda each: (each[1], each[0])))


def _both(arms: Mapping[str, Any], *names: str) -> bool:
    return all("ttf_item_ms" in arms.get(name, {}) for name in names)


def _ratio(arms: Mapping[str, Any], above: str, below: str, measure: str) -> float:
    return round(float(arms[above][measure]["p50"]) / float(arms[below][measure]["p50"]), 3)


def _interval(samples: Samples, above: str, below: str, measure: str, *, rng: np.random.Generator) -> list[float]:
    """95 % of the ratios that samples drawn again from these would have had (percentile bootstrap, Efron 1979)."""
    medians = []
    for name in (above, below):
        measured = (MEASURES[measure][0](each) for each in samples[name] if not each.error)
        values = np.array([value for value in measured if value is not None])
        medians.append(np.median(rng.choice(values, size=(RESAMPLES, len(values))), axis=1))
    low, high = np.percentile(medians[0] / medians[1], (2.5, 97.5))
    return [round(float(low), 3), round(float(high), 3)]


def _steps(arms: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each arm saved over the one before it, at the median."""
    order = [name for name in (NAIVE, *STEPS, MESH) if _both(arms, name)]
    steps = []
    for before, after in pairwise(order):
        one, other = arms[before], arms[after]
        step: dict[str, Any] = {"step": after, "over": before}
        for measure in ("ttft_ms", "ttf_item_ms", "total_ms"):
            start, end = one[measure]["p50"], other[measure]["p50"]
            step[measure] = {"before": start, "after": end, "saved": round(start - end, 1), "ratio": _over(start, end)}
        for measure in ("input_tokens", "output_tokens", "cost_usd"):
            step[measure] = {"before": one[measure]["p50"], "after": other[measure]["p50"]}
        steps.append(step)
    return steps


def _multiplication(arms: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the techniques multiply, at the first item's median.

    One after the other they always do, since each ratio begins where the last one ended; the question is whether what
    each is worth alone, over naive, multiplies to what all are worth together, or adds up to it.
    """
    if not _both(arms, NAIVE, STEPS[-1]):
        return {"says": "not measured: it takes naive and all techniques"}
    naive = {measure: arms[NAIVE][measure]["p50"] for measure in ("ttf_item_ms", "total_ms")}
    together = arms[STEPS[-1]]
    found: dict[str, Any] = {
        "ttf_item_ratio": _over(naive["ttf_item_ms"], together["ttf_item_ms"]["p50"]),
        "ttf_item_saved_ms": round(naive["ttf_item_ms"] - together["ttf_item_ms"]["p50"], 1),
    }
    if not all(_both(arms, ALONE + step) for step in STEPS):
        found["says"] = "not measured: what each technique is worth alone takes --alone"
        return found
    alone = {step: arms[ALONE + step]["ttf_item_ms"]["p50"] for step in STEPS}
    found["alone"] = {
        step: {
            "ttf_item_ms": value,
            "ratio": _over(naive["ttf_item_ms"], value),
            "saved_ms": round(naive["ttf_item_ms"] - value, 1),
        }
        for step, value in alone.items()
    }
    product = math.prod(naive["ttf_item_ms"] / value for value in alone.values())
    added = sum(naive["ttf_item_ms"] - value for value in alone.values())
    found["product_of_alone"] = round(product, 2)
    found["sum_of_alone_saved_ms"] = round(added, 1)
    found["sum_would_leave_ms"] = round(naive["ttf_item_ms"] - added, 1)
    found["product_would_leave_ms"] = round(naive["ttf_item_ms"] / product, 1)
    found["says"] = _verdict(naive["ttf_item_ms"], together["ttf_item_ms"]["p50"], product, added)
    return found


def _verdict(naive: float, together: float, product: float, added: float) -> str:
    real, left = naive / together, naive - added
    if 1 / 1.25 <= product / real <= 1.25:
        return f"they multiply: alone they come to a factor of {product:.1f}, together to {real:.1f}"
    how = "less than" if product > real else "more than"
    sums = f"added up they would leave {left:.0f} ms" if left > 0 else "added up they would leave less than nothing"
    return (
        f"they come to {how} their product: alone to a factor of {product:.1f}, together to {real:.1f}; {sums}, "
        f"and {together:.0f} ms are left"
    )


def _over(start: float, end: float) -> float:
    return round(start / end, 3) if end else 0.0


def _judged(aim: Aim, found: Mapping[str, Any]) -> dict[str, Any]:
    value: Any = found
    for key in aim.figure.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    met = None if value is None else bool(aim.low <= value <= aim.high)
    bounds = {"at_least": aim.low} if aim.low else {}
    bounds |= {"at_most": aim.high} if aim.high < math.inf else {}
    return {"aim": aim.says, "figure": aim.figure, **bounds, "measured": value, "met": met}


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
