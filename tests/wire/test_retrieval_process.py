"""The retrieval process as it is really started: configuration, model, index, and what it says when one is missing."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import orjson
import pytest

from headway.testing import PATIENCE, plain_channel
from headway.v1 import retrieval_pb2, retrieval_pb2_grpc, router_pb2


def settings(root: Path, state: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADWAY_")}
    return {
        **kept,
        "HEADWAY_RETRIEVAL_LISTEN": "127.0.0.1:0",
        "HEADWAY_DOMAIN": str(root / "domains" / "travel"),
        "HEADWAY_MODELS": str(root / "models"),
        "HEADWAY_STATE": str(state),
        "HEADWAY_DRAIN_NOTICE": "0s",
        **more,
    }


async def started(root: Path, environment: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.retrieval",
        cwd=root,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def output_of(root: Path, environment: dict[str, str]) -> tuple[int, str]:
    process = await started(root, environment)
    async with asyncio.timeout(60 * PATIENCE):
        output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


@asynccontextmanager
async def serving(root: Path, environment: dict[str, str]) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a running retrieval process, and what it logged until it listened."""
    process = await started(root, environment)
    logged: list[dict[str, Any]] = []
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60 * PATIENCE):
            while not logged or logged[-1].get("event") != "listening":
                line = await process.stdout.readline()
                assert line, f"the process ended early: {logged}"
                logged.append(orjson.loads(line))
        yield logged[-1]["address"], logged
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()
    assert process.returncode == 0


@pytest.fixture
def with_model(root: Path) -> None:
    if not (root / "models" / "use-multilingual" / "model.onnx").is_file():
        if os.environ.get("CI") == "true":
            pytest.fail("the embedding model is missing; run `make models`")
        pytest.skip("the embedding model is missing; `make models` fetches it")


async def ids(address: str, query: str) -> list[str]:
    async with plain_channel(address) as channel:
        stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        request = retrieval_pb2.RetrieveRequest(
            query=query, language="ko", slots=[router_pb2.Slot(name="destination", value="jeju")], sections=["sights"]
        )
        return [
            record.record_id async for event in stub.Retrieve(request, timeout=10) for record in event.records.records
        ]


@pytest.mark.usefixtures("with_model")
async def test_a_first_start_builds_the_index_and_a_second_one_uses_it(root: Path, tmp_path: Path) -> None:
    environment = settings(root, tmp_path)
    async with serving(root, environment) as (address, logged):
        assert any("there was no index" in str(line.get("done")) for line in logged)
        assert "jeju-seongsan-ilchulbong" in await ids(address, "성산일출봉")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ids(address, "")
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (tmp_path / "catalogue.index").is_file()
    async with serving(root, environment) as (address, logged):
        assert not any("done" in line for line in logged)
        assert "jeju-seongsan-ilchulbong" in await ids(address, "일출 보러 성산에")


@pytest.mark.usefixtures("with_model")
async def test_a_foreign_index_file_stops_the_start_with_what_to_do(root: Path, tmp_path: Path) -> None:
    (tmp_path / "catalogue.index").write_bytes(b"my diary")
    code, output = await output_of(root, settings(root, tmp_path))
    assert code == 69
    assert "is not a catalogue index" in output
    assert "headway catalogue build" in output


async def test_a_missing_model_stops_the_start_with_what_to_do(root: Path, tmp_path: Path) -> None:
    code, output = await output_of(root, settings(root, tmp_path, HEADWAY_MODELS=str(tmp_path)))
    assert code == 69
    assert "make models" in output


async def test_settings_that_cannot_work_stop_the_start(root: Path, tmp_path: Path) -> None:
    code, output = await output_of(root, settings(root, tmp_path, HEADWAY_WEB_SEARCH="brave", HEADWAY_WEB_RESULTS="0"))
    assert code == 78
    assert "HEADWAY_WEB_RESULTS" in output
