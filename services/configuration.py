"""Everything that may be set, as one document.

    python -m services.configuration > docs/guides/configuration.md

The document is made from the settings themselves, and a test keeps the committed one equal to them. Knows the four
services by their configuration only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.server import SharedConfig
from headway.settings import Declared, declared
from services.generator.config import GeneratorConfig
from services.orchestrator.config import OrchestratorConfig
from services.retrieval.config import RetrievalConfig
from services.router.config import RouterConfig

KINDS: dict[str, type[Any]] = {
    "Every service": SharedConfig,
    "Orchestrator": OrchestratorConfig,
    "Router": RouterConfig,
    "Retrieval": RetrievalConfig,
    "Generator": GeneratorConfig,
}

HEAD = """# Configuration

Everything is set by environment variables, read once at start. Spans carry their unit (`250ms`, `5s`, `2m`). A fault in
any of them ends the process with exit code 78 before a port is bound, and all faults are told at once, by name. What is
in force is logged at start, secrets masked. An empty value counts as unset.

This page is made by `python -m services.configuration`; a test holds it to the code.
"""


def document() -> Iterator[str]:
    """The lines of the document."""
    yield from HEAD.splitlines()
    told: set[str] = set()
    for title, kind in KINDS.items():
        yield ""
        yield f"## {title}"
        yield ""
        yield "| variable | default | meaning |"
        yield "|---|---|---|"
        for each in declared(kind):
            again = " (shared with the services above)" if each.variable in told else ""
            told.add(each.variable)
            yield f"| `{each.variable}` | {_default(each)} | {each.doc}{again} |"


def _default(each: Declared) -> str:
    root = str(Path(__file__).resolve().parent.parent)
    shown = each.default.replace(root + "/", "")
    return f"`{shown}`" if shown else "(none)"


if __name__ == "__main__":
    sys.stdout.write("\n".join(document()) + "\n")
