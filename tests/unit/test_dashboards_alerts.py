"""The rules of Prometheus: every series and label is exposed, every alert says what it means and what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

import promql_parser
import pytest
import yaml

from headway.settings import span
from tests.unit.deployment_files import ROOT
from tests.unit.promql import exposed, labels_of, nodes, parsed, selectors, unknown

PROMETHEUS = ROOT / "deploy" / "prometheus"
GUIDE = ROOT / "docs" / "guides" / "observability.md"


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((PROMETHEUS / "rules.yml").read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


RECORDED = {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}
ALERTS = [rule for rule in rules() if "alert" in rule]
alerts = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))


def known() -> dict[str, frozenset[str]]:
    """What services expose, and what rules record of it."""
    series = exposed()
    return series | {name: labels_of(parsed(expr), series) for name, expr in RECORDED.items()}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule.get("record") or rule.get("alert")))
def test_every_series_and_label_that_a_rule_names_is_exposed(rule: dict[str, Any]) -> None:
    assert unknown(rule["expr"], known()) == []


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_series_is_named_by_level_metric_and_what_was_done(name: str) -> None:
    assert re.fullmatch(r"headway:[a-z_]+:[a-z0-9_]+", name)
    assert any(name in alert["expr"] for alert in ALERTS), "nobody uses it"


@alerts
def test_an_alert_compares_with_a_limit(alert: dict[str, Any]) -> None:
    comparisons = [node.op for node in nodes(parsed(alert["expr"])) if isinstance(node, promql_parser.BinaryExpr)]
    assert {str(op).rpartition(".")[2] for op in comparisons} & {">", "==", ">=", "Gtr", "Gte", "Eql", "Neq"}


@alerts
def test_an_alert_waits_is_rated_and_says_what_it_means(alert: dict[str, Any]) -> None:
    assert span(alert["for"]) >= 60
    assert alert["labels"]["severity"] in {"warning", "critical"}
    assert set(alert["annotations"]) == {"summary", "description", "runbook"}
    assert len(alert["annotations"]["summary"]) <= 100


@alerts
def test_what_an_alert_says_holds_only_labels_that_it_has(alert: dict[str, Any]) -> None:
    said = " ".join(alert["annotations"].values())
    named = set(re.findall(r"\$labels\.(\w+)", said))
    assert named <= labels_of(parsed(alert["expr"]), known())


@alerts
def test_the_guide_says_what_to_do_about_an_alert(alert: dict[str, Any]) -> None:
    page, _, anchor = alert["annotations"]["runbook"].partition("#")
    assert ROOT / page == GUIDE
    headings = re.findall(r"^### (.+)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert alert["alert"] in headings
    assert anchor == alert["alert"].lower()


def test_all_that_a_mesh_must_not_do_unseen_has_an_alert() -> None:
    assert {alert["alert"] for alert in ALERTS} == {
        "HeadwayTtftDrifts",
        "HeadwayFirstItemDrifts",
        "HeadwayPromptCacheLost",
        "HeadwayDeadlinesMissed",
        "HeadwayFloorShareHigh",
        "HeadwayProviderFails",
        "HeadwayNotReady",
        "HeadwayServiceGone",
        "HeadwayErrs",
    }


def test_outcomes_that_count_as_well_are_those_that_the_traces_take_for_well() -> None:
    from headway.telemetry_otlp import _WENT_WELL

    [alert] = [alert for alert in ALERTS if alert["alert"] == "HeadwayProviderFails"]
    [matched] = re.findall(r'outcome!~"([^"]+)"', alert["expr"])
    assert set(matched.split("|")) == {*_WENT_WELL, "cancelled"}


def test_methods_that_are_named_exist() -> None:
    from headway.v1 import recommendation_pb2

    service = recommendation_pb2.DESCRIPTOR.services_by_name["RecommendationService"]
    methods = {f"{service.full_name}/{method.name}" for method in service.methods}
    named = set(re.findall(r'method="([^"]+)"', (PROMETHEUS / "rules.yml").read_text(encoding="utf-8")))
    assert named
    assert named <= methods


@pytest.mark.skipif(
    shutil.which("promtool") is None and os.environ.get("CI") != "true",
    reason="promtool, which comes with Prometheus, is not installed",
)
def test_prometheus_itself_finds_the_rules_good_and_the_alerts_fire_when_they_should() -> None:
    promtool = str(shutil.which("promtool"))
    for arguments in (("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml")):
        run = subprocess.run(
            [promtool, *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False, timeout=100
        )
        assert run.returncode == 0, run.stdout + run.stderr


def test_selectors_are_found_below_every_kind_of_node() -> None:
    names = {
        name for name, _ in selectors(parsed("quantile_over_time(0.5, a[1h:5m]) > (b) and on () -c or topk(2, d)"))
    }
    assert names == {"a", "b", "c", "d"}
