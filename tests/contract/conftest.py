from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

from headway.cli.state import MeshState, running
from headway.testing import PATIENCE, hosting
from tests.contract.outside_programs import finished
from tests.contract.scripted_service import scripted


def absent(reason: str) -> NoReturn:
    """Ends a test whose tool a newcomer may lack: skipped with the reason, but a failure under CI=true."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def generate(root: Path) -> ModuleType:
    """``proto/generate.py`` as a module."""
    spec = importlib.util.spec_from_file_location("generate", root / "proto" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def image(generate: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contract as one descriptor set, for clients that do not ask the server."""
    target = tmp_path_factory.mktemp("image") / "headway.binpb"
    generate.image(target)
    return target


@pytest.fixture(scope="session")
def buf() -> str:
    """The buf program, which comes with the development requirements."""
    found = shutil.which("buf", path=str(Path(sys.executable).parent))
    assert found, "buf is missing beside python; run make setup"
    return found


@pytest.fixture
async def target() -> AsyncIterator[str]:
    """Address of a scripted RecommendationService."""
    async with hosting(scripted()) as address:
        yield address


@pytest.fixture(scope="session")
def node_client(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Node.js client, installed from its lock file outside of the tree."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        absent("node and npm are not installed")
    folder = tmp_path_factory.mktemp("node")
    for name in (".npmrc", "package.json", "package-lock.json", "client.mjs"):
        shutil.copy(root / "tests" / "contract" / "node" / name, folder)
    installed = finished("npm", "ci", "--ignore-scripts", "--no-progress", within=110.0, cwd=folder)
    if installed.code:
        absent(f"npm ci failed: {installed.err.strip()[-600:]}")
    return folder / "client.mjs"


@pytest.fixture(scope="session")
def mesh(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeshState]:
    """The whole mesh as real processes on free ports, with simulators that take no time."""
    folder = tmp_path_factory.mktemp("mesh")
    settings = {"HEADWAY_STATE": str(folder), "HEADWAY_DRAIN_NOTICE": "0s", "HEADWAY_DRAIN_GRACE": "1s"}
    for part in ("ORCHESTRATOR", "ROUTER", "RETRIEVAL", "GENERATOR", "SIMULATORS"):
        settings[f"HEADWAY_{part}_LISTEN"] = "127.0.0.1:0"
    mine = {
        name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY_", "ANTHROPIC", "OPENAI"))
    }
    command = [sys.executable, "-m", "headway.cli", "up", "--scenario", "zero"]
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=root, env=mine | settings, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield _when_ready(process, folder)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30 * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert process.returncode == 0, (folder / "up.log").read_text("utf-8")


def _when_ready(process: subprocess.Popen[bytes], folder: Path) -> MeshState:
    give_up = time.monotonic() + 90 * PATIENCE
    while time.monotonic() < give_up and process.poll() is None:
        state = running(folder)
        if state is not None and state.phase == "ready":
            return state
        time.sleep(0.05)
    pytest.fail("the mesh is not ready:\n" + (folder / "up.log").read_text("utf-8"))
