"""The Grafana dashboard, written down as rows of panels.

    python deploy/grafana/dashboard.py > deploy/grafana/dashboards/headway.json

Decides what is shown and in which unit; Grafana's own format is made here and nowhere else. A test holds the committed
JSON to this file, and every series to ``headway.metrics``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH = 24
HEIGHT = 8
ANSWERS = 'method="headway.v1.RecommendationService/Recommend"'
RATE = "$__rate_interval"
QUANTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One line, or as many as its labels make; ``legend`` in Grafana's notation."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel. ``unit`` is one of Grafana's; ``warn`` and ``bad`` are values from which on it turns yellow and red."""

    title: str
    about: str
    unit: str
    queries: Sequence[Query]
    kind: str = "timeseries"
    stacked: bool = False
    warn: float | None = None
    bad: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of panels of equal width."""

    title: str
    panels: Sequence[Panel] = field(default_factory=tuple)
    height: int = HEIGHT


def rate(series: str, by: str = "", matching: str = "") -> str:
    """The sum of rates of a counter."""
    grouped = f" by ({by})" if by else ""
    labels = f"{{{matching}}}" if matching else ""
    return f"sum{grouped} (rate({series}{labels}[{RATE}]))"


def share(series: str, matching: str, by: str = "", among: str = "") -> str:
    """The part of a counter that has some labels, among those that have others."""
    both = ",".join(part for part in (among, matching) if part)
    part = rate(series, by, both)
    # A series that has never been counted is missing, which is not the same as unknown.
    return f"{part if by else f'({part} or vector(0))'} / {rate(series, by, among)}"


def quantile(of: float, series: str, by: str = "", matching: str = "") -> str:
    """A quantile of a histogram."""
    grouped = f"{by}, le" if by else "le"
    return f"histogram_quantile({of}, {rate(series + '_bucket', grouped, matching)})"


def quantiles(series: str, matching: str = "") -> list[Query]:
    """The three quantiles that everything here is told by."""
    return [Query(expr=quantile(of, series, matching=matching), legend=name) for name, of in QUANTILES]


def stages(name: str, of: float) -> Panel:
    """One quantile of every stage."""
    return Panel(
        title=f"Stages, {name}",
        about="Time of each stage as its service measured it.",
        unit="s",
        queries=[Query(expr=quantile(of, "headway_stage_duration_seconds", "stage"), legend="{{stage}}")],
    )


ROWS = (
    Row(
        title="At a glance",
        height=4,
        panels=(
            Panel(
                title="First item, p50",
                about="Half of the answers had their first item by then.",
                unit="s",
                kind="stat",
                queries=[Query(expr=quantile(0.5, "headway_first_item_seconds"), legend="")],
            ),
            Panel(
                title="First item, p95",
                about="All but one in twenty answers had their first item by then.",
                unit="s",
                kind="stat",
                queries=[Query(expr=quantile(0.95, "headway_first_item_seconds"), legend="")],
            ),
            Panel(
                title="Deadlines missed",
                about="Share of the answers that ended after their deadline.",
                unit="percentunit",
                kind="stat",
                warn=0.002,
                bad=0.01,
                queries=[Query(expr=share("headway_deadlines_total", 'result="missed"', among=ANSWERS), legend="")],
            ),
            Panel(
                title="From the floor",
                about="Share of the items that no model wrote.",
                unit="percentunit",
                kind="stat",
                warn=0.1,
                bad=0.2,
                queries=[Query(expr=share("headway_items_total", 'tier="extractive"'), legend="")],
            ),
            Panel(
                title="Cost of an answer",
                about="Dollars spent with providers for each answer.",
                unit="currencyUSD",
                kind="stat",
                queries=[
                    Query(expr=f"{rate('headway_cost_usd_total')} / {rate('headway_answer_seconds_count')}", legend="")
                ],
            ),
            Panel(
                title="Not ready",
                about="Hosted services that say that something they need is missing.",
                unit="none",
                kind="stat",
                bad=1,
                queries=[Query(expr="count(headway_ready == 0) or vector(0)", legend="")],
            ),
        ),
    ),
    Row(
        title="Answers",
        panels=(
            Panel(
                title="Time to the first item",
                about="From the arrival of the request to the first complete item.",
                unit="s",
                queries=quantiles("headway_first_item_seconds"),
            ),
            Panel(
                title="Time of whole answers",
                about="From the arrival of the request to its summary.",
                unit="s",
                queries=quantiles("headway_answer_seconds"),
            ),
            Panel(
                title="Answers by ending",
                about="How answers ended; deadline and upstream_exhausted gave less than was asked for.",
                unit="reqps",
                stacked=True,
                queries=[Query(expr=rate("headway_answer_seconds_count", "finish"), legend="{{finish}}")],
            ),
        ),
    ),
    Row(title="Stages", panels=tuple(stages(name, of) for name, of in QUANTILES)),
    Row(
        title="Deadlines",
        panels=(
            Panel(
                title="Deadlines missed",
                about="Share of the calls that ended after their deadline, by method. Callers that left do not count.",
                unit="percentunit",
                queries=[
                    Query(expr=share("headway_deadlines_total", 'result="missed"', "method"), legend="{{method}}")
                ],
            ),
            Panel(
                title="Slack at the end of answers",
                about="Time that was left to the deadline. Near zero the reserve is being used; far above, time is "
                "given away that a better rung could have used.",
                unit="s",
                queries=[
                    Query(expr=quantile(of, "headway_slack_seconds", matching=ANSWERS), legend=name)
                    for name, of in (("least twentieth", 0.05), ("median", 0.5))
                ],
            ),
            Panel(
                title="Allowances overrun",
                about="Stages that took longer than their slice of the budget.",
                unit="ops",
                queries=[Query(expr=rate("headway_allowance_overruns_total", "stage"), legend="{{stage}}")],
            ),
        ),
    ),
    Row(
        title="Degradations",
        panels=(
            Panel(
                title="Given up, by reason",
                about="What was given up so that the answer came in time. Nothing has failed.",
                unit="ops",
                stacked=True,
                queries=[Query(expr=rate("headway_degradations_total", "reason"), legend="{{reason}}")],
            ),
            Panel(
                title="Given up, by stage",
                about="Where it was given up.",
                unit="ops",
                stacked=True,
                queries=[Query(expr=rate("headway_degradations_total", "stage"), legend="{{stage}}")],
            ),
            Panel(
                title="Items by tier",
                about="Who wrote the items; extractive is the floor, which asks no model.",
                unit="ops",
                stacked=True,
                queries=[Query(expr=rate("headway_items_total", "tier"), legend="{{tier}}")],
            ),
        ),
    ),
    Row(
        title="Providers",
        panels=(
            Panel(
                title="Calls by outcome",
                about="Calls to providers and adapters. stopped: we ended it at an item's border because time was up.",
                unit="reqps",
                stacked=True,
                queries=[
                    Query(
                        expr=rate("headway_attempts_total", "backend, model, outcome"),
                        legend="{{backend}} {{model}} {{outcome}}",
                    )
                ],
            ),
            Panel(
                title="Time to the first token",
                about="As the provider's stream shows it.",
                unit="s",
                queries=[
                    Query(expr=quantile(of, "headway_ttft_seconds", "backend, model"), legend=f"{{{{model}}}} {name}")
                    for name, of in QUANTILES[:2]
                ],
            ),
            Panel(
                title="Time per output token",
                about="After the first one.",
                unit="s",
                queries=[
                    Query(expr=quantile(of, "headway_tpot_seconds", "backend, model"), legend=f"{{{{model}}}} {name}")
                    for name, of in QUANTILES[:2]
                ],
            ),
            Panel(
                title="Second tries",
                about="Attempts after the first of a stage, and calls between services that came as hedges.",
                unit="ops",
                queries=[
                    Query(expr=rate("headway_retries_total", "stage"), legend="again: {{stage}}"),
                    Query(expr=rate("headway_hedges_total", "method"), legend="hedge: {{method}}"),
                ],
            ),
        ),
    ),
    Row(
        title="Tokens and cost",
        panels=(
            Panel(
                title="Tokens",
                about="Tokens a second by kind; input holds both cache kinds.",
                unit="none",
                queries=[Query(expr=rate("headway_tokens_total", "kind"), legend="{{kind}}")],
            ),
            Panel(
                title="Cost",
                about="Dollars an hour at the present rate, by the configured prices.",
                unit="currencyUSD",
                stacked=True,
                queries=[
                    Query(
                        expr=f"3600 * {rate('headway_cost_usd_total', 'backend, model')}",
                        legend="{{backend}} {{model}}",
                    )
                ],
            ),
        ),
    ),
    Row(
        title="Prompt cache",
        panels=(
            Panel(
                title="Read from the cache",
                about="Share of the input tokens that were read from the provider's prompt cache.",
                unit="percentunit",
                most=1,
                queries=[
                    Query(
                        expr=rate("headway_tokens_total", "backend, model", 'kind="cache_read"')
                        + " / "
                        + rate("headway_tokens_total", "backend, model", 'kind="input"'),
                        legend="{{backend}} {{model}}",
                    )
                ],
            ),
            Panel(
                title="Written to the cache",
                about="Tokens a second that were written to the provider's prompt cache, which costs more than input.",
                unit="none",
                queries=[
                    Query(
                        expr=rate("headway_tokens_total", "backend, model", 'kind="cache_write"'),
                        legend="{{backend}} {{model}}",
                    )
                ],
            ),
            Panel(
                title="Prefixes lost",
                about="Times that answers in a row read nothing of a prefix that should have been in the cache.",
                unit="none",
                queries=[
                    Query(
                        expr=f"sum by (backend, model) (increase(headway_prompt_cache_losses_total[{RATE}]))",
                        legend="{{backend}} {{model}}",
                    )
                ],
            ),
        ),
    ),
    Row(
        title="Load",
        panels=(
            Panel(
                title="In flight",
                about="Calls under way, by method.",
                unit="none",
                queries=[Query(expr="sum by (method) (headway_in_flight)", legend="{{method}}")],
            ),
            Panel(
                title="Queues",
                about="Work that waits for a worker.",
                unit="none",
                queries=[Query(expr="sum by (service, queue) (headway_queue_length)", legend="{{service}} {{queue}}")],
            ),
            Panel(
                title="Calls by status",
                about="Calls between services and from callers, by status; OK is left out.",
                unit="reqps",
                queries=[
                    Query(
                        expr=rate("headway_requests_total", "method, code", 'code!="OK"'), legend="{{method}} {{code}}"
                    )
                ],
            ),
            Panel(
                title="Time of calls, p95",
                about="As the service that is called measures it.",
                unit="s",
                queries=[Query(expr=quantile(0.95, "headway_request_duration_seconds", "method"), legend="{{method}}")],
            ),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    """The dashboard in Grafana's classic model."""
    return {
        "uid": "headway",
        "title": "Headway",
        "description": "Where the time of an answer goes, what was given up for it, and how the providers do.",
        "tags": ["headway"],
        "schemaVersion": 42,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [{"name": "source", "label": "Metrics", "type": "datasource", "query": "prometheus"}]},
        "panels": list(_panels()),
    }


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for row in ROWS:
        number += 1
        heading = {"h": 1, "w": WIDTH, "x": 0, "y": top}
        yield {"id": number, "type": "row", "title": row.title, "collapsed": False, "gridPos": heading, "panels": []}
        top += 1
        width = WIDTH // len(row.panels)
        for column, panel in enumerate(row.panels):
            number += 1
            yield _panel(number, panel, {"h": row.height, "w": width, "x": column * width, "y": top})
        top += row.height


def _panel(number: int, panel: Panel, position: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": position,
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": query.expr, "legendFormat": query.legend}
            for index, query in enumerate(panel.queries)
        ],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    steps += [
        {"color": color, "value": value}
        for color, value in (("yellow", panel.warn), ("red", panel.bad))
        if value is not None
    ]
    found: dict[str, Any] = {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.most is not None:
        found["max"] = panel.most
    if panel.kind == "timeseries":
        found["custom"] = {
            "lineWidth": 1,
            "fillOpacity": 30 if panel.stacked else 0,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
    return found


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "stat":
        return {
            "colorMode": "value",
            "graphMode": "area",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        }
    return {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["mean", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def text() -> str:
    """The file as it is committed."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
