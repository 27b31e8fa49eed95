"""Child processes are started, watched, restarted and stopped; real processes, with waits cut short."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway.cli.backoff import Rules
from headway.cli.endpoints import Child, Role
from headway.cli.logfiles import Remark
from headway.cli.supervisor import Phase, Supervisor, supervising
from headway.testing import PATIENCE, eventually

ROOT = Path(__file__).resolve().parents[2]
QUICK = Rules(first=0.01, longest=0.05, settled=3600.0, most=3)

SERVES = """
import http.server, os, signal, sys, threading
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Page)
def leave(*_):
    print("told to stop", flush=True)
    threading.Thread(target=server.shutdown).start()
signal.signal(signal.SIGTERM, leave)
print("pid", os.getpid(), "argument", sys.argv[2:], flush=True)
server.serve_forever()
"""
DIES = "import sys; print('about to fail', flush=True); sys.exit(int(sys.argv[1]))"
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
while True: time.sleep(60)
"""


@dataclass
class Seen:
    """A watcher that keeps what it is told."""

    phases: list[tuple[str, Phase, str]] = field(default_factory=list)
    remarks: list[tuple[str, str, int]] = field(default_factory=list)
    crashes: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)

    def changed(self, name: str, phase: Phase, detail: str) -> None:
        self.phases.append((name, phase, detail))

    def remarked(self, name: str, remark: Remark, more: int) -> None:
        self.remarks.append((name, remark.text, more))

    def crashed(self, name: str, how: str, lines: Sequence[str], again_after: float) -> None:
        self.crashes.append((name, how, tuple(lines)))

    def of(self, name: str) -> list[Phase]:
        return [phase for each, phase, _ in self.phases if each == name]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def child(folder: Path, name: str, code: str, *arguments: str, layer: int = 1, port: int = 0) -> Child:
    (folder / f"child_{name}.py").write_text(code, encoding="utf-8")
    return Child(
        role=Role(name=name, module=f"child_{name}", variable="X", layer=layer),
        arguments=arguments,
        environment=dict(os.environ) | {"PYTHONPATH": f"{folder}:{ROOT}"},
        address=f"127.0.0.1:{port}",
    )


def serving(folder: Path, name: str, *, layer: int = 1) -> Child:
    port = free_port()
    return child(folder, name, SERVES, str(port), layer=layer, port=port)


@asynccontextmanager
async def supervised(folder: Path, *children: Child) -> AsyncIterator[tuple[Supervisor, Seen]]:
    seen = Seen()
    never = asyncio.Event()
    async with supervising(children, folder / "log", seen, at_once=never, rules=QUICK, draw=lambda: 0.0) as supervisor:
        yield supervisor, seen


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # A process that has ended but was not waited for yet still has its number.
        stat = Path(f"/proc/{pid}/stat")
        return not stat.parent.parent.joinpath("self").exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_a_child_is_ready_when_it_says_so_and_ends_when_told(tmp_path: Path) -> None:
    async with supervised(tmp_path, serving(tmp_path, "router")) as (supervisor, seen):
        async with asyncio.timeout(20 * PATIENCE):
            await supervisor.ready()
        (pid,) = supervisor.pids().values()
        assert alive(pid)
    assert not alive(pid)
    assert seen.of("router") == [Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.STOPPED]
    assert "told to stop" in (tmp_path / "log" / "router.log").read_text()


async def test_a_killed_child_is_started_again_and_becomes_ready_again(tmp_path: Path) -> None:
    async with supervised(tmp_path, serving(tmp_path, "router")) as (supervisor, seen):
        async with asyncio.timeout(40 * PATIENCE):
            await supervisor.ready()
            before = supervisor.pids()["router"]
            os.kill(before, signal.SIGKILL)
            await eventually(lambda: bool(seen.crashes), within=20)
            await supervisor.ready()
        assert supervisor.pids()["router"] != before
    name, how, lines = seen.crashes[0]
    assert (name, how) == ("router", "was killed by signal 9")
    assert lines[0].startswith(f"pid {before}")
    assert seen.of("router")[:5] == [Phase.STARTING, Phase.READY, Phase.WAITING, Phase.STARTING, Phase.READY]


async def test_a_child_that_keeps_dying_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    async with supervised(tmp_path, child(tmp_path, "router", DIES, "3")) as (supervisor, seen):
        async with asyncio.timeout(40 * PATIENCE):
            failure = await supervisor.failure()
    assert (failure.name, failure.code, failure.lines) == ("router", 3, ("about to fail",))
    assert "3 times in a row" in failure.why
    assert len(seen.crashes) == 2


@pytest.mark.parametrize("code", [78, 69])
async def test_a_child_that_cannot_work_is_given_up_at_once(tmp_path: Path, code: int) -> None:
    async with supervised(tmp_path, child(tmp_path, "router", DIES, str(code))) as (supervisor, seen):
        async with asyncio.timeout(20 * PATIENCE):
            failure = await supervisor.failure()
    assert (failure.code, failure.lines) == (code, ("about to fail",))
    assert seen.crashes == []


async def test_a_failure_of_one_leaves_the_others_running_until_they_are_stopped(tmp_path: Path) -> None:
    children = serving(tmp_path, "generator"), child(tmp_path, "router", DIES, "78")
    async with supervised(tmp_path, *children) as (supervisor, seen):
        async with asyncio.timeout(20 * PATIENCE):
            await supervisor.failure()
            await eventually(lambda: Phase.READY in seen.of("generator"), within=20)
    assert seen.of("generator")[-2:] == [Phase.STOPPING, Phase.STOPPED]


async def test_callers_are_stopped_before_those_they_call(tmp_path: Path) -> None:
    children = [serving(tmp_path, name, layer=layer) for name, layer in (("sims", 0), ("router", 1), ("front", 2))]
    async with supervised(tmp_path, *children) as (supervisor, seen):
        async with asyncio.timeout(40 * PATIENCE):
            await supervisor.ready()
    endings = [(name, phase) for name, phase, _ in seen.phases if phase in (Phase.STOPPING, Phase.STOPPED)]
    assert endings == [
        (name, phase) for name in ("front", "router", "sims") for phase in (Phase.STOPPING, Phase.STOPPED)
    ]


async def test_a_child_that_does_not_listen_is_killed_when_asked_twice(tmp_path: Path) -> None:
    at_once = asyncio.Event()
    seen = Seen()
    children = [child(tmp_path, "deaf", STUBBORN)]
    async with supervising(children, tmp_path / "log", seen, at_once=at_once, rules=QUICK) as supervisor:
        log = tmp_path / "log" / "deaf.log"
        await eventually(lambda: log.exists() and "deaf" in log.read_text(), within=20)
        (pid,) = supervisor.pids().values()
        at_once.set()
    assert not alive(pid)


async def test_a_child_that_does_not_listen_is_killed_after_its_time(tmp_path: Path) -> None:
    async with supervised(tmp_path, child(tmp_path, "deaf", STUBBORN)) as (supervisor, _seen):
        log = tmp_path / "log" / "deaf.log"
        await eventually(lambda: log.exists() and "deaf" in log.read_text(), within=20)
        (keeper,) = supervisor.keepers
        await keeper.stop(within=0.05)
        assert supervisor.pids() == {}


async def test_warnings_of_a_child_are_passed_on_a_few_at_a_time(tmp_path: Path) -> None:
    lines = "".join(f'print(\'{{"event":"odd","level":"warning","n":{n}}}\');' for n in range(8))
    talkative = child(tmp_path, "router", lines + "import sys; sys.stdout.flush(); import time; time.sleep(600)")
    async with supervised(tmp_path, talkative) as (_supervisor, seen):
        await eventually(lambda: bool(seen.remarks), within=20)
        assert seen.remarks[0] == ("router", "odd n=0", 0)
        assert seen.remarks[4] == ("router", "odd n=4", 3)


async def test_why_a_child_is_not_ready_belongs_to_its_phase(tmp_path: Path) -> None:
    line = 'print(\'{"event":"not ready","level":"warning","missing":"the index"}\', flush=True)'
    async with supervised(tmp_path, child(tmp_path, "router", line + "; import time; time.sleep(600)")) as (_, seen):
        expected = ("router", Phase.STARTING, "the index")
        await eventually(lambda: expected in seen.phases, within=20)
    assert seen.remarks == []


async def test_children_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    served = serving(tmp_path, "router")
    parent = f"""
import asyncio, pathlib, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.unit.test_cli_supervisor import Seen, child, SERVES
from headway.cli.supervisor import supervising
async def main():
    folder = pathlib.Path({str(tmp_path)!r})
    port = {served.address.rpartition(":")[2]}
    served = child(folder, "router", SERVES, str(port), port=port)
    async with supervising([served], folder / "log", Seen(), at_once=asyncio.Event()) as supervisor:
        await supervisor.ready()
        print(supervisor.pids()["router"], flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(30 * PATIENCE):
        pid = int(await process.stdout.readline())
    assert alive(pid)
    process.kill()
    await process.wait()
    await eventually(lambda: not alive(pid), within=10, what="the end of the child")
    assert "told to stop" in (tmp_path / "log" / "router.log").read_text()
