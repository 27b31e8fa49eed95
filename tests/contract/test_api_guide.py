"""The guide for callers says what the code does, and its commands work as they are written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from headway.errors import CODES
from headway.interceptors import BUDGET_KEY
from headway.server import MAX_MESSAGE_BYTES, PING_INTERVAL_MS, SharedConfig
from headway.settings import declared
from tests.contract.outside_programs import ran
from tests.contract.scripted_service import LEDGER_KEY


@pytest.fixture(scope="module")
def guide(root: Path) -> str:
    return (root / "docs" / "guides" / "api.md").read_text(encoding="utf-8")


def test_the_table_of_errors_is_that_of_the_code(guide: str) -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| `([A-Z_]+)` \|", guide, re.MULTILINE)
    assert rows == [(reason.value, code.name) for reason, code in CODES.items()]


def test_defaults_and_limits_are_those_of_the_code(guide: str) -> None:
    defaults = {each.variable: each.default for each in declared(SharedConfig)}
    for variable in ("HEADWAY_DEFAULT_DEADLINE", "HEADWAY_MAX_DEADLINE"):
        assert f"(`{variable}`, {defaults[variable]})" in guide
    assert f"{defaults['HEADWAY_MAX_STREAMS']} calls at once on one connection (`HEADWAY_MAX_STREAMS`)" in guide
    assert f"messages of at most {MAX_MESSAGE_BYTES >> 20} MiB" in guide
    assert f"keepalive pings every {PING_INTERVAL_MS // 2000} seconds" in guide


def test_metadata_keys_are_those_of_the_code(guide: str) -> None:
    assert {BUDGET_KEY, LEDGER_KEY} <= set(re.findall(r"^\| `([a-z-]+)` \|", guide, re.MULTILINE))


async def test_the_commands_for_buf_work_as_written(guide: str, target: str, buf: str) -> None:
    blocks = re.findall(r"^```sh\n(.*?)```$", guide, re.MULTILINE | re.DOTALL)
    commands = [command for block in blocks if (command := shlex.split(block.replace("\\\n", " ")))[0] != "grpcurl"]
    assert [command[:2] for command in commands] == [[".venv/bin/buf", "curl"]] * 3
    for command in commands:
        run = await ran(buf, *(each.replace("127.0.0.1:50051", target) for each in command[1:]))
        assert run.code == 0, run.err
        assert run.out.strip()


def test_what_the_guide_points_at_exists(root: Path, guide: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", guide) if "://" not in link]
    assert links
    assert [link for link in links if not (root / "docs" / "guides" / link).exists()] == []
