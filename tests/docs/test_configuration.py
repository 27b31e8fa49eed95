"""The document of the settings is the one that the code would write."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from headway.settings import declared
from services.configuration import KINDS, document


def test_the_committed_document_is_what_the_settings_say(root: Path) -> None:
    committed = (root / "docs" / "guides" / "configuration.md").read_text(encoding="utf-8")
    assert committed == "\n".join(document()) + "\n", "run: make docs"


def test_a_variable_shared_by_services_means_the_same_everywhere() -> None:
    defaults: dict[str, set[str]] = {}
    for kind in KINDS.values():
        for each in declared(kind):
            defaults.setdefault(each.variable, set()).add(each.default)
    assert {name: found for name, found in defaults.items() if len(found) > 1} == {}


def test_no_service_declares_a_variable_twice() -> None:
    for kind in KINDS.values():
        counts = Counter(each.variable for each in declared(kind))
        assert [name for name, count in counts.items() if count > 1] == []
