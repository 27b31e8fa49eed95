"""An independent client that knows the service only from what the server says of itself."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2

from headway.server import SharedConfig
from headway.testing import hosting
from headway.v1 import ledger_pb2
from tests.contract.outside_programs import Finished, ran
from tests.contract.scripted_service import LEDGER, LEDGER_KEY, METHOD, SERVICE, TITLES, scripted

Curl = Callable[..., Awaitable[Finished]]


@pytest.fixture
def curl(buf: str) -> Curl:
    async def run(*arguments: str) -> Finished:
        return await ran(buf, "curl", "--protocol", "grpc", "--http2-prior-knowledge", *arguments)

    return run


def events(run: Finished) -> list[str]:
    return [next(iter(document)) for document in run.documents()]


async def test_it_lists_the_service(curl: Curl, target: str) -> None:
    run = await curl("--list-methods", f"http://{target}")
    assert METHOD in run.out.split()


async def test_it_reads_a_stream_event_by_event(curl: Curl, target: str) -> None:
    run = await curl("--data", json.dumps({"query": "제주도 3박4일 가족여행"}), f"http://{target}/{METHOD}")
    assert run.code == 0, run.err
    assert events(run) == ["plan", "item", "item", "item", "notice", "summary"]
    items = [document["item"] for document in run.documents() if "item" in document]
    assert {item["sources"][0]: item["title"] for item in items} == TITLES
    assert {item["tier"] for item in items} == {"TIER_SMALL"}


async def test_its_timeout_is_the_deadline(curl: Curl, target: str) -> None:
    for timeout, source in (("20s", "CALLER"), ("1h", "CLAMPED"), ("0", "DEFAULT")):
        run = await curl("--timeout", timeout, "--data", '{"query": "jeju"}', f"http://{target}/{METHOD}")
        assert run.documents()[0]["plan"]["deadlineSource"] == f"DEADLINE_SOURCE_{source}", run.err


async def test_it_is_told_every_field_that_is_wrong(curl: Curl, target: str) -> None:
    request = json.dumps({"query": " ", "locale": "??", "maxItems": 99})
    run = await curl("--data", request, f"http://{target}/{METHOD}")
    assert run.code == grpc.StatusCode.INVALID_ARGUMENT.value[0] << 3
    error = json.loads(run.err)
    assert error["code"] == "invalid_argument"
    details = {each["type"]: base64.b64decode(each["value"] + "==") for each in error["details"]}
    broken = error_details_pb2.BadRequest.FromString(details["google.rpc.BadRequest"])
    assert [each.field for each in broken.field_violations] == ["query", "locale", "max_items"]
    info = error_details_pb2.ErrorInfo.FromString(details["google.rpc.ErrorInfo"])
    assert (info.reason, info.domain) == ("INVALID_REQUEST", "headway")


async def test_it_sees_the_ledger_as_trailing_metadata(curl: Curl, target: str) -> None:
    run = await curl("--verbose", "--data", '{"query": "jeju"}', f"http://{target}/{METHOD}")
    found = re.search(rf"{LEDGER_KEY}: (\S+)", run.err, re.IGNORECASE)
    assert found, run.err
    ledger = ledger_pb2.Ledger.FromString(base64.b64decode(found[1] + "=="))
    assert [stage.name for stage in ledger.stages] == [stage.name for stage in LEDGER]


async def test_it_reads_the_health_of_the_service(curl: Curl, target: str) -> None:
    run = await curl("--data", json.dumps({"service": SERVICE}), f"http://{target}/grpc.health.v1.Health/Check")
    assert run.documents()[0]["status"] in {"SERVING", "NOT_SERVING"}, run.err


async def test_without_reflection_a_descriptor_set_serves(curl: Curl, image: Path) -> None:
    closed = SharedConfig(drain_notice=0.0, drain_grace=1.0, reflection=False, channelz=False)
    async with hosting(scripted(), shared=closed) as target:
        url, data = f"http://{target}/{METHOD}", ("--data", '{"query": "jeju"}')
        assert (await curl(*data, url)).code != 0
        run = await curl("--schema", str(image), *data, url)
    assert events(run)[-1] == "summary", run.err
