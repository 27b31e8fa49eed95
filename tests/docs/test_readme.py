"""The README says what is so: its commands run as written, its links lead somewhere, its tables match the code."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from headway.errors import CODES, Reason
from headway.testing import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")
FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(root: Path, language: str) -> list[str]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return [body.strip() for kind, body in FENCE.findall(text) if kind == language]


async def run(root: Path, command: str, *, within: float = 240.0) -> tuple[int, str]:
    """A command as a newcomer types it: in a shell, from the project's root, without settings or keys."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY_", "PYTEST_"))}
    environment = {name: value for name, value in environment.items() if not name.endswith("_API_KEY")}
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=root,
        env=environment | {"PYTHONUTF8": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), within * PATIENCE)
    assert process.returncode is not None
    return process.returncode, output.decode()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def mesh(root: Path) -> AsyncIterator[None]:
    """What ``make up`` starts, in the background; one that runs already is used and left alone."""
    code, said = await run(root, ".venv/bin/headway up --detach")
    started = code == 0
    assert started or "running" in said, said
    yield
    if started:
        assert (await run(root, ".venv/bin/headway down"))[0] == 0


async def test_make_demo_answers_both_questions_and_shows_the_ledger(root: Path) -> None:
    assert "make demo" in blocks(root, "sh")
    code, said = await run(root, "make demo")
    assert code == 0, said
    assert "제주도 3박4일 가족여행" in said
    assert "3-day Tokyo trip with kids" in said
    assert said.count("generator.lodging") >= 2


async def test_the_questions_of_the_readme_are_answered(root: Path, mesh: None) -> None:
    questions = [block for block in blocks(root, "sh") if block.startswith(".venv/bin/headway ask")]
    assert len(questions) == 2
    for question in questions:
        code, said = await run(root, question)
        assert code == 0, said
        if "--json" in question:
            events = [json.loads(line) for line in said.splitlines()]
            assert "plan" in events[0]
            assert "summary" in events[-1]
            assert any("item" in event for event in events)


async def test_the_python_client_of_the_readme_prints_items(root: Path, mesh: None, tmp_path: Path) -> None:
    [client] = blocks(root, "python")
    script = tmp_path / "client.py"
    script.write_text(client, encoding="utf-8")
    code, said = await run(root, f"{sys.executable} {script}")
    assert code == 0, said
    assert len(said.splitlines()) == 6


async def test_every_make_target_that_is_named_exists(root: Path) -> None:
    code, listed = await run(root, "make help")
    assert code == 0
    targets = set(re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", "\n".join(blocks(root, "sh"))))
    assert named
    assert named <= targets


async def test_links_lead_to_files(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert targets
    assert [target for target in targets if not (root / target).exists()] == []


async def test_the_table_of_errors_is_the_catalogue_of_errors(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| `([A-Z_]+)` \| `([A-Z_]+)` \|", text)
    known = {(CODES[reason].name, reason.value) for reason in Reason if reason is not Reason.NOT_READY}
    assert set(rows) == known
