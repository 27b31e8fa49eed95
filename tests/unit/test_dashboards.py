"""The Grafana dashboard: every series and label that it names is exposed, units fit, panels lie side by side."""

from __future__ import annotations

import importlib.util
import json
import re
from types import ModuleType
from typing import Any

import promql_parser
import pytest

from tests.unit.deployment_files import ROOT
from tests.unit.promql import exposed, instruments, labels_of, parsed, selectors, unknown

GRAFANA = ROOT / "deploy" / "grafana"
UNITS = {"s", "percentunit", "currencyUSD", "reqps", "ops", "none"}


@pytest.fixture(scope="module")
def source() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dashboard", GRAFANA / "dashboard.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up the module they are declared in.
    import sys

    sys.modules["dashboard"] = module
    spec.loader.exec_module(module)
    return module


def committed() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((GRAFANA / "dashboards" / "headway.json").read_text(encoding="utf-8"))
    return document


PANELS = [panel for panel in committed()["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"], target["legendFormat"]) for panel in PANELS for target in panel["targets"]]
panels = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: str(panel["title"]))
queries = pytest.mark.parametrize(("title", "query", "legend"), QUERIES)


def test_the_committed_file_is_what_the_source_makes(source: ModuleType) -> None:
    assert (GRAFANA / "dashboards" / "headway.json").read_text(encoding="utf-8") == source.text(), (
        "run: python deploy/grafana/dashboard.py > deploy/grafana/dashboards/headway.json"
    )


@queries
def test_every_series_and_label_that_a_panel_names_is_exposed(title: str, query: str, legend: str) -> None:
    assert unknown(query, exposed()) == []


@queries
def test_a_legend_names_only_labels_that_the_result_has(title: str, query: str, legend: str) -> None:
    named = set(re.findall(r"\{\{(\w+)\}\}", legend))
    assert named <= labels_of(parsed(query), exposed())


@queries
def test_counters_are_shown_as_rates_and_gauges_as_they_are(title: str, query: str, legend: str) -> None:
    gauges = {each.name for each in instruments() if each.kind == "gauge"}
    rated = {
        name
        for node in _all(parsed(query))
        if isinstance(node, promql_parser.Call) and node.func.name in {"rate", "increase"}
        for name, _ in selectors(node)
    }
    asked = {name for name, _ in selectors(parsed(query))}
    assert asked - rated <= gauges
    assert not rated & gauges


def _all(node: Any) -> list[Any]:
    from tests.unit.promql import nodes

    return list(nodes(node))


@queries
def test_quantiles_are_taken_over_buckets_that_keep_their_bound(title: str, query: str, legend: str) -> None:
    for node in _all(parsed(query)):
        if isinstance(node, promql_parser.Call) and node.func.name == "histogram_quantile":
            [(name, _)] = set(selectors(node))
            assert name.endswith("_bucket")
            [grouped] = [each for each in _all(node) if isinstance(each, promql_parser.AggregateExpr)]
            assert "le" in grouped.modifier.labels


@panels
def test_the_unit_is_that_of_what_is_asked(panel: dict[str, Any]) -> None:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    assert unit in UNITS
    for target in panel["targets"]:
        query = target["expr"]
        assert (unit == "s") == ("histogram_quantile" in query)
        assert (unit == "percentunit") == (" / " in query and "cost_usd" not in query)
        assert (unit == "currencyUSD") == ("cost_usd" in query)


@panels
def test_a_panel_says_what_it_shows(panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["targets"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${source}"}


def test_panels_lie_side_by_side_and_none_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    ids = [panel["id"] for panel in committed()["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in committed()["panels"]:
        at = panel["gridPos"]
        assert 0 <= at["x"] <= at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_there_is_a_row_for_everything_that_is_asked_of_a_mesh() -> None:
    rows = [panel["title"] for panel in committed()["panels"] if panel["type"] == "row"]
    assert rows == [
        "At a glance",
        "Answers",
        "Stages",
        "Deadlines",
        "Degradations",
        "Providers",
        "Tokens and cost",
        "Prompt cache",
        "Load",
    ]


def test_every_metric_is_shown_somewhere() -> None:
    shown = {name for _, query, _ in QUERIES for name, _ in selectors(parsed(query))}
    hidden = [
        each.name for each in instruments() if not shown & {each.name, f"{each.name}_bucket", f"{each.name}_count"}
    ]
    assert hidden == []


def test_the_source_of_the_metrics_can_be_chosen() -> None:
    [variable] = committed()["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == ("source", "datasource", "prometheus")


@pytest.mark.parametrize(
    ("query", "faults"),
    [
        ("sum by (stage) (rate(headway_degradations_total[5m]))", []),
        ("rate(headway_degradation_total[5m])", ["headway_degradation_total"]),
        ('headway_in_flight{stage="x"}', ["headway_in_flight{stage}"]),
        ("sum by (model) (headway_in_flight)", ["by (model)"]),
        ("sum by (stage) (headway_stage_duration_seconds)", ["headway_stage_duration_seconds", "by (stage)"]),
    ],
)
def test_a_query_that_asks_for_what_is_not_there_is_found(query: str, faults: list[str]) -> None:
    assert unknown(query, exposed()) == faults
