"""The guide to observability, against the metrics, the settings and the files that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway.cli.main import app
from headway.server import SharedConfig
from headway.settings import declared
from services.orchestrator.config import OrchestratorConfig
from tests.unit.promql import instruments

BEGIN, END = "<!-- metrics:begin -->\n", "<!-- metrics:end -->"


def table() -> str:
    """The table of the guide as the code has it."""
    lines = ["| metric | kind | labels | what |", "|---|---|---|---|"]
    for each in sorted(instruments(), key=lambda each: each.name):
        labels = ", ".join(f"`{label}`" for label in each.labels) or "none"
        lines.append(f"| `{each.name}` | {each.kind} | {labels} | {each.about} |")
    return "\n".join(lines) + "\n"


@pytest.fixture
def guide(root: Path) -> str:
    return (root / "docs" / "guides" / "observability.md").read_text(encoding="utf-8")


def test_the_table_of_metrics_is_what_services_expose(guide: str) -> None:
    written = guide[guide.index(BEGIN) + len(BEGIN) : guide.index(END)]
    assert written == table(), f"it should be\n{table()}"


def test_every_variable_that_is_named_exists(guide: str) -> None:
    known = {each.variable for kind in (SharedConfig, OrchestratorConfig) for each in declared(kind)}
    of_compose = {"HEADWAY_TRACES_TO", "HEADWAY_PREFERRED_PROVIDER"}
    assert set(re.findall(r"HEADWAY_[A-Z_]+", guide)) <= known | of_compose


def test_every_file_that_is_named_exists(guide: str, root: Path) -> None:
    named = set(re.findall(r"`((?:deploy|docs|bench)/[\w./-]+)`", guide))
    assert named
    assert [path for path in named if not (root / path).exists()] == []


def test_every_command_that_is_named_exists(guide: str) -> None:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    named = set(re.findall(r"`headway ([a-z]+)", guide))
    assert named
    assert named <= known


def test_panels_that_are_named_are_on_the_dashboard(guide: str, root: Path) -> None:
    advice = guide[guide.index("## What to do about an alert") :]
    dashboard = (root / "deploy" / "grafana" / "dashboards" / "headway.json").read_text(encoding="utf-8")
    named = re.findall(r"\*([A-Z][^*\n]+(?:\n[^*\n]+)?)\*", advice)
    assert named
    for title in named:
        assert f'"title": "{" ".join(title.split())}"' in dashboard
