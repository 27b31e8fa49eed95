"""A client in another language and with another implementation of gRPC."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from google.rpc import error_details_pb2, status_pb2

from headway.v1 import ledger_pb2
from tests.contract.outside_programs import ran
from tests.contract.scripted_service import LEDGER, TITLES

pytestmark = pytest.mark.node


async def events(client: Path, target: str, image: Path, request: dict[str, Any]) -> list[dict[str, Any]]:
    run = await ran("node", str(client), target, str(image), json.dumps(request), "20000")
    assert run.code == 0, run.err
    return run.documents()


async def test_node_reads_a_stream(node_client: Path, target: str, image: Path) -> None:
    lines = await events(node_client, target, image, {"query": "제주도 3박4일 가족여행", "max_items": 3})
    assert [next(iter(line)) for line in lines] == ["plan", "item", "item", "item", "notice", "summary", "end"]
    assert lines[0]["plan"]["deadline_source"] == "DEADLINE_SOURCE_CALLER"
    assert lines[0]["plan"]["max_items"] == 3
    assert [line["item"]["title"] for line in lines[1:4]] == list(TITLES.values())
    assert lines[-2]["summary"]["finish_reason"] == "FINISH_REASON_COMPLETE"


async def test_node_reads_the_ledger_from_the_trailing_metadata(node_client: Path, target: str, image: Path) -> None:
    end = (await events(node_client, target, image, {"query": "jeju"}))[-1]["end"]
    assert end["code"] == "OK"
    ledger = ledger_pb2.Ledger.FromString(base64.b64decode(end["ledger"][0]))
    assert [stage.name for stage in ledger.stages] == [stage.name for stage in LEDGER]


async def test_node_is_told_which_field_is_wrong(node_client: Path, target: str, image: Path) -> None:
    (line,) = await events(node_client, target, image, {"query": ""})
    assert line["end"]["code"] == "INVALID_ARGUMENT"
    status = status_pb2.Status.FromString(base64.b64decode(line["end"]["status"][0]))
    broken = error_details_pb2.BadRequest()
    assert [each.Unpack(broken) for each in status.details] == [False, True]
    assert [each.field for each in broken.field_violations] == ["query"]


def test_the_lock_file_names_no_registry(root: Path) -> None:
    lock = json.loads((root / "tests" / "contract" / "node" / "package-lock.json").read_text(encoding="utf-8"))
    packages = [each for path, each in lock["packages"].items() if path]
    assert packages
    assert all("resolved" not in each and each["integrity"].startswith("sha512-") for each in packages)
