"""Parts that every kind of test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches the code under test."""
    for name in list(os.environ):
        known_keys = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"}
        ours = name.startswith("HEADWAY_") and name != "HEADWAY_TEST_PATIENCE"
        if ours or name in known_keys:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root folder."""
    return ROOT
