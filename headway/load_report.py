"""What a load run showed, as a value: quantiles with their number of samples, shares, counts; and as HDR files.

Decides which figures are reported. Refuses to know how they look on a terminal, and never sees a run that was refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from headway.load import Recording

PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """A distribution in milliseconds, to three digits, and the number of its samples. None of it exists without any."""

    n: int
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run. ``first_item_ms`` is of calls with an item, ``total_ms`` of those that ended well, both counted from the
    instant at which a call was due; None without a sample. ``inside_deadline`` is a share of all calls, and so is
    ``failed_share``; ``rate_sent`` is calls a second.
    """

    n: int
    rate_sent: float
    failed_share: float
    inside_deadline: float
    first_item_ms: Quantiles | None
    total_ms: Quantiles | None
    lateness_ms: Quantiles | None
    items: int
    items_per_call: float
    without_item: int
    finishes: Mapping[str, int]
    errors: Mapping[str, int]
    degradations: Mapping[str, int]
    tiers: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """The same with names and numbers only."""
        return asdict(self)


def report(recording: Recording) -> Report:
    """The figures of a run of at least one call."""
    sent = recording.sent
    return Report(
        n=sent,
        rate_sent=round(sent / recording.span, 3) if recording.span else 0.0,
        failed_share=round(recording.failed_share, 4),
        inside_deadline=round(recording.inside_deadline / sent, 4),
        first_item_ms=quantiles(recording.first_item),
        total_ms=quantiles(recording.total),
        lateness_ms=quantiles(recording.lateness),
        items=recording.items,
        items_per_call=round(recording.items / sent, 2),
        without_item=recording.without_item,
        finishes=dict(recording.finishes.most_common()),
        errors=dict(recording.errors.most_common()),
        degradations=dict(recording.degradations.most_common()),
        tiers=dict(recording.tiers.most_common()),
    )


def quantiles(histogram: HdrHistogram) -> Quantiles | None:
    """Of a histogram of microseconds. None when it is empty."""
    if not histogram.get_total_count():
        return None
    values = {f"p{each}": _ms(histogram.get_value_at_percentile(each)) for each in PERCENTILES}
    return Quantiles(n=histogram.get_total_count(), max=_ms(histogram.get_max_value()), **values)


def _ms(microseconds: float) -> float:
    return round(microseconds / 1000, 3)


def write_hdr(recording: Recording, path: Path) -> list[Path]:
    """Writes both latencies for other tools; returns the files. Raises OSError.

    A name that ends in .hgrm gives percentiles as text in milliseconds, one file each (NAME.first_item.hgrm,
    NAME.total.hgrm), which HdrHistogram's plotter takes; any other name one HDR histogram log (format 1.2,
    microseconds) with two tagged lines.
    """
    histograms = {"first_item": recording.first_item, "total": recording.total}
    if path.suffix != ".hgrm":
        path.write_text(_log(histograms, recording.span), encoding="ascii")
        return [path]
    written = []
    for name, histogram in histograms.items():
        file = path.with_suffix(f".{name}.hgrm")
        file.write_bytes(_percentiles(histogram))
        written.append(file)
    return written


def _percentiles(histogram: HdrHistogram) -> bytes:
    text = BytesIO()
    histogram.output_percentile_distribution(text, 1000)
    # The library scales everything but the deviation.
    deviation = f"StdDeviation   = {histogram.get_stddev() / 1000:12.3f}".encode()
    return re.sub(rb"StdDeviation   = +[\d.]+", deviation, text.getvalue())


def _log(histograms: Mapping[str, HdrHistogram], span: float) -> str:
    # Written here because the library's writer knows no tags; its reader does.
    lines = [
        "#[Histogram log format version 1.2]",
        "#[Values are microseconds, the Interval_Max column milliseconds; times count from the end of the warm-up]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for name, histogram in histograms.items():
        most = histogram.get_max_value() / 1000
        lines.append(f"Tag={name},0.000,{span:.3f},{most:.3f},{histogram.encode().decode('ascii')}")
    return "\n".join(lines) + "\n"
