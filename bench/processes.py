"""Starts the simulators and the four services as processes of their own, and reads what they use.

Decides ports (free ones), the environment (nothing of the caller's shell reaches a measured process) and when a mesh is
ready. Refuses to know what is measured.

    async with simulators(scenario="zero") as upstream:  # an Upstream: url, anthropic_url, openai_url, web_url
        async with mesh(upstream, environment={"HEADWAY_LOG_LEVEL": "warning"}) as running:
            running.target  # of RecommendationService, "127.0.0.1:port"
            running.used()  # {"router": Used(cpu_seconds=..., rss_mb=...), ...}

``started(scenario=...)`` is both in one. All processes end with the block, and with the process that started them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
SERVICES = ("router", "retrieval", "generator", "orchestrator")
"""In the order in which they are started; stopped the other way round."""
READY_WITHIN = 120.0
"""Seconds for a process to become ready: the first start makes the index of the catalogue."""
STOP_WITHIN = 15.0
METRICS_OFFSET = 100
_LOOK_EVERY = 0.05
_HEALTH_NAMES = {name: f"headway.v1.{name.capitalize()}Service" for name in SERVICES} | {
    "orchestrator": "headway.v1.RecommendationService"
}


Check = Callable[[], Awaitable[bool]]
"""Asks a process whether it is ready."""


class CannotStart(Exception):  # noqa: N818 - named for what is the case
    """A process ended, or was not ready in time; the message says which and quotes its last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What a process has used: processor time since its start (user and system), memory now (resident)."""

    cpu_seconds: float
    rss_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Simulators that run in a process of their own."""

    url: str
    pid: int

    @property
    def anthropic_url(self) -> str:
        """The Anthropic SDK's ``base_url``."""
        return f"{self.url}/anthropic"

    @property
    def openai_url(self) -> str:
        """The OpenAI SDK's ``base_url``."""
        return f"{self.url}/openai/v1"

    @property
    def web_url(self) -> str:
        """What HEADWAY_WEB_SEARCH_URL is set to."""
        return f"{self.url}/web"

    def used(self) -> Used:
        """What the simulators have used so far."""
        return used(self.pid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A mesh that is ready: ``target`` of the public service, process ids and addresses by service."""

    target: str
    upstream: Upstream
    pids: Mapping[str, int]
    addresses: Mapping[str, str]

    def used(self) -> dict[str, Used]:
        """What each service has used so far. Raises CannotStart when one has died meanwhile."""
        try:
            return {name: used(pid) for name, pid in self.pids.items()}
        except FileNotFoundError as gone:
            raise CannotStart("a service of the mesh has died while it was measured") from gone


@asynccontextmanager
async def started(
    *, scenario: str = "zero", seed: int = 1, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Running]:
    """Simulators with a scenario (a name or a TOML file), and a mesh on top of them. Raises CannotStart."""
    async with simulators(scenario=scenario, seed=seed) as upstream:
        async with mesh(upstream, environment=environment) as running:
            yield running


@asynccontextmanager
async def simulators(*, scenario: str = "zero", seed: int = 1) -> AsyncIterator[Upstream]:
    """Simulators in a process of their own. Raises CannotStart."""
    port = free_port()
    arguments = ("--host", HOST, "--port", str(port), "--scenario", scenario, "--seed", str(seed))
    async with _folder() as folder:
        async with process("simulators", arguments, {}, log=folder / "simulators.log") as child:
            await child.until_ready(lambda: _page(port))
            yield Upstream(url=f"http://{HOST}:{port}", pid=child.pid)


@asynccontextmanager
async def mesh(
    upstream: Upstream, *, environment: Mapping[str, str] | None = None, services: Sequence[str] = SERVICES
) -> AsyncIterator[Running]:
    """The services on free ports, with keys and addresses that lead to ``upstream``, ready when the block is entered.

    ``environment`` holds settings (HEADWAY_...) that differ from the defaults. Raises CannotStart.
    """
    addresses = {name: f"{HOST}:{free_port(metrics=True)}" for name in SERVICES}
    async with AsyncExitStack() as lifetimes:
        folder = await lifetimes.enter_async_context(_folder())
        _lend_index(folder)
        settings = _settings(upstream, addresses, folder) | dict(environment or {})
        children = {
            name: await lifetimes.enter_async_context(
                process(f"services.{name}", (), settings, log=folder / f"{name}.log")
            )
            for name in SERVICES
            if name in services
        }
        await asyncio.gather(*(_until_serving(children[name], name, addresses[name]) for name in children))
        yield Running(
            target=addresses["orchestrator"],
            upstream=upstream,
            pids={name: child.pid for name, child in children.items()},
            addresses=addresses,
        )


def _lend_index(folder: Path) -> None:
    """Copies the catalogue index that the project has, when it has one: the service makes it afresh if it is stale."""
    made = ROOT / "var" / "catalogue.index"
    if made.exists():
        shutil.copyfile(made, folder / made.name)


def _settings(upstream: Upstream, addresses: Mapping[str, str], state: Path) -> dict[str, str]:
    settings = {
        "HEADWAY_DOMAIN": str(ROOT / "domains" / "travel"),
        "HEADWAY_MODELS": str(ROOT / "models"),
        "HEADWAY_STATE": str(state),
        "HEADWAY_METRICS_OFFSET": str(METRICS_OFFSET),
        "HEADWAY_DRAIN_NOTICE": "0s",
        "HEADWAY_ANTHROPIC_BASE_URL": upstream.anthropic_url,
        "HEADWAY_OPENAI_BASE_URL": upstream.openai_url,
        "HEADWAY_WEB_SEARCH_URL": upstream.web_url,
        "HEADWAY_ANTHROPIC_API_KEY": "simulated",
        "HEADWAY_OPENAI_API_KEY": "simulated",
    }
    for name, address in addresses.items():
        settings[f"HEADWAY_{name.upper()}_LISTEN"] = address
        if name != "orchestrator":
            settings[f"HEADWAY_{name.upper()}_TARGET"] = address
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A process that was started; ``log`` is what it says."""

    name: str
    log: Path
    running: asyncio.subprocess.Process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.running.pid

    async def until_ready(self, ready: Check, *, within: float = READY_WITHIN) -> None:
        """Asks ``ready`` until it says True. Raises CannotStart when the process ends before, or after ``within``."""
        try:
            async with asyncio.timeout(within):
                while not await ready():
                    if self.running.returncode is not None:
                        raise CannotStart(f"{self.name} ended with {self.running.returncode}.\n{self._last_words()}")
                    await asyncio.sleep(_LOOK_EVERY)
        except TimeoutError as late:
            raise CannotStart(f"{self.name} was not ready within {within:g} s.\n{self._last_words()}") from late

    def _last_words(self) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])


@asynccontextmanager
async def process(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], *, log: Path
) -> AsyncIterator[Child]:
    """Runs ``python -m module`` from the project's root until the block is left. It sees ``environment`` and nothing
    of the shell's, so that a run is the same whoever starts it.
    """
    with log.open("wb") as output:
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "headway.cli.tether",  # ends it when the process that measures is killed
            module,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=ROOT,
            env={"PYTHONUTF8": "1", "NO_PROXY": HOST} | dict(environment),
        )
    try:
        yield Child(name=module, log=log, running=running)
    finally:
        await asyncio.shield(asyncio.ensure_future(_stopped(running)))


async def _stopped(running: asyncio.subprocess.Process) -> None:
    if running.returncode is None:
        running.terminate()
    try:
        async with asyncio.timeout(STOP_WITHIN):
            await running.wait()
    except TimeoutError:
        running.kill()
        await running.wait()


async def _until_serving(child: Child, name: str, address: str) -> None:
    async with grpc.aio.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service=_HEALTH_NAMES[name])

        async def serving() -> bool:
            try:
                answer = await stub.Check(request, timeout=1.0)
            except grpc.aio.AioRpcError:
                return False
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

        await child.until_ready(serving)


async def _page(port: int) -> bool:
    try:
        async with asyncio.timeout(1.0):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(f"GET /healthz HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
            status = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return False
    return b" 200 " in status


@asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as name:
        yield Path(name)


def free_port(*, metrics: bool = False) -> int:
    """A port that is free now; with ``metrics`` also the one at which the service of that port serves its metrics."""
    while True:
        with socket.socket() as probe, socket.socket() as beside:
            probe.bind((HOST, 0))
            port = int(probe.getsockname()[1])
            if not metrics:
                return port
            try:
                beside.bind((HOST, port + METRICS_OFFSET))
            except (OSError, OverflowError):
                continue
            return port


def used(pid: int) -> Used:
    """What a process has used, all its threads together, from /proc. Raises FileNotFoundError when there is none, and
    NotImplementedError where the system has no /proc.
    """
    if not sys.platform.startswith("linux"):
        raise NotImplementedError("processor time and memory of the services are read from /proc, which needs Linux")
    folder = Path("/proc") / str(pid)
    # The name of the program stands in brackets and may hold spaces; counted from behind it, the fields are fixed.
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    pages = int((folder / "statm").read_text().split()[1])
    return Used(cpu_seconds=ticks / os.sysconf("SC_CLK_TCK"), rss_mb=pages * os.sysconf("SC_PAGE_SIZE") / (1024 * 1024))
