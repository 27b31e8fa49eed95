"""Clients that are not ours against the mesh that ships, as real processes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from headway.cli.endpoints import ROLES
from headway.cli.state import MeshState
from headway.v1 import ledger_pb2
from tests.contract.outside_programs import Finished, ran
from tests.contract.scripted_service import LEDGER_KEY, METHOD

QUERIES = {"ko": "제주도 3박4일 가족여행", "en": "3-day Tokyo trip with kids"}
SERVED = {role.name: role.health for role in ROLES if role.health}
Curl = Callable[..., Awaitable[Finished]]


@pytest.fixture
def curl(buf: str) -> Curl:
    async def run(*arguments: str) -> Finished:
        return await ran(buf, "curl", "--protocol", "grpc", "--http2-prior-knowledge", *arguments)

    return run


def holds_the_order(kinds: list[str]) -> bool:
    """A plan, then items and notices, then a summary."""
    return re.fullmatch("plan (?:(?:item|notice) )*item (?:(?:item|notice) )*summary", " ".join(kinds)) is not None


@pytest.mark.parametrize("language", QUERIES)
async def test_buf_curl_reads_an_answer(mesh: MeshState, curl: Curl, language: str) -> None:
    request = json.dumps({"query": QUERIES[language], "maxItems": 6})
    run = await curl("--timeout", "20s", "--data", request, f"http://{mesh.orchestrator}/{METHOD}")
    assert run.code == 0, run.err
    events = run.documents()
    assert holds_the_order([next(iter(each)) for each in events])
    plan, summary = events[0]["plan"], events[-1]["summary"]
    items = [each["item"] for each in events if "item" in each]
    assert (plan["language"], plan["deadlineSource"]) == (language, "DEADLINE_SOURCE_CALLER")
    assert {item["section"] for item in items} <= set(plan["sections"])
    assert all(item["title"] and item["sources"] for item in items)
    assert summary["items"] == len(items) <= 6
    assert {"router", "retrieval.internal"} <= {stage["name"] for stage in summary["ledger"]}


async def test_the_ledger_travels_as_trailing_metadata_too(mesh: MeshState, curl: Curl) -> None:
    request = json.dumps({"query": QUERIES["en"]})
    run = await curl("--verbose", "--timeout", "20s", "--data", request, f"http://{mesh.orchestrator}/{METHOD}")
    found = re.search(rf"{LEDGER_KEY}: (\S+)", run.err, re.IGNORECASE)
    assert found, run.err
    ledger = ledger_pb2.Ledger.FromString(base64.b64decode(found[1] + "=="))
    summary = run.documents()[-1]["summary"]
    assert [stage.name for stage in ledger.stages] == [stage["name"] for stage in summary["ledger"]]


async def test_an_unknown_section_is_refused_by_name(mesh: MeshState, curl: Curl) -> None:
    request = json.dumps({"query": QUERIES["en"], "sections": ["shoes"]})
    run = await curl("--timeout", "20s", "--data", request, f"http://{mesh.orchestrator}/{METHOD}")
    assert run.code == grpc.StatusCode.INVALID_ARGUMENT.value[0] << 3
    assert {each["type"] for each in json.loads(run.err)["details"]} == {
        "google.rpc.ErrorInfo",
        "google.rpc.BadRequest",
    }


@pytest.mark.parametrize("service", SERVED)
async def test_each_service_names_itself_and_is_healthy(mesh: MeshState, curl: Curl, service: str) -> None:
    address = f"http://{mesh.addresses[service]}"
    listed = await curl("--list-services", address)
    assert SERVED[service] in listed.out.split(), listed.err
    health = await curl("--data", json.dumps({"service": SERVED[service]}), f"{address}/grpc.health.v1.Health/Check")
    assert health.documents() == [{"status": "SERVING"}], health.err


@pytest.mark.node
async def test_node_reads_an_answer(mesh: MeshState, node_client: Path, image: Path) -> None:
    request = json.dumps({"query": QUERIES["ko"]})
    run = await ran("node", str(node_client), mesh.orchestrator, str(image), request, "20000")
    lines: list[dict[str, Any]] = run.documents()
    assert holds_the_order([next(iter(line)) for line in lines[:-1]]), run.out + run.err
    assert lines[-1]["end"]["code"] == "OK"
