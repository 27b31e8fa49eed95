"""A gRPC server from start to drain, the same for every service.

Decides ports, limits, what a server offers beside its own service (health, reflection, channelz) and how it leaves:
not-serving first, then finish what runs, then go. Knows no service.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import structlog
from grpc_channelz.v1 import channelz
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from headway.deadline import Clock
from headway.interceptors import MeshInterceptor, TimeRules, server_layers
from headway.metrics import Metrics, exposed
from headway.settings import one_of, positive_span, setting, share, span, switch, whole, words
from headway.telemetry import Telemetry, TraceRules, tracer

PING_INTERVAL_MS = 20_000
"""How often clients ping an idle connection; the server allows twice that often."""

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Largest message either side takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedConfig:
    """What may be set for every service alike."""

    default_deadline: float = setting(
        "HEADWAY_DEFAULT_DEADLINE", positive_span, "5s", "deadline of calls whose caller set none"
    )
    max_deadline: float = setting("HEADWAY_MAX_DEADLINE", positive_span, "60s", "longest deadline; longer ones are cut")
    reserve: float = setting(
        "HEADWAY_RESERVE", span, "50ms", "time before the deadline kept free for writing; at most a fifth of it"
    )
    log_level: str = setting(
        "HEADWAY_LOG_LEVEL", one_of("debug", "info", "warning", "error"), "info", "lowest level that is logged"
    )
    log_format: str = setting("HEADWAY_LOG_FORMAT", one_of("json", "text"), "json", "how log lines look")
    drain_notice: float = setting(
        "HEADWAY_DRAIN_NOTICE", span, "200ms", "time between saying not-serving and refusing new calls"
    )
    drain_grace: float = setting(
        "HEADWAY_DRAIN_GRACE", span, "10s", "time that calls under way get to finish when the service stops"
    )
    max_streams: int = setting("HEADWAY_MAX_STREAMS", whole(1, 100_000), "1000", "most calls at once on one connection")
    reflection: bool = setting("HEADWAY_REFLECTION", switch, "on", "gRPC reflection, for grpcurl; off in production")
    metrics_offset: int = setting(
        "HEADWAY_METRICS_OFFSET",
        whole(0, 10_000),
        "100",
        "metrics for Prometheus are served at the port of the service plus this; 0 switches them off",
    )
    otlp_endpoint: str = setting(
        "HEADWAY_OTLP_ENDPOINT", words, "", "OTLP/gRPC collector that traces go to; empty: nothing is traced"
    )
    trace_sample: float = setting("HEADWAY_TRACE_SAMPLE", share, "1.0", "share of requests that are traced, 0 to 1")
    trace_content: bool = setting(
        "HEADWAY_TRACE_CONTENT", switch, "off", "also record queries, prompts and items in traces"
    )
    trace_providers: bool = setting(
        "HEADWAY_TRACE_PROVIDERS", switch, "off", "send the trace context (traceparent) to providers as well"
    )
    channelz: bool = setting("HEADWAY_CHANNELZ", switch, "on", "gRPC channelz, for debugging; off in production")

    def __post_init__(self) -> None:
        if self.default_deadline > self.max_deadline:
            raise ValueError("HEADWAY_DEFAULT_DEADLINE must not be longer than HEADWAY_MAX_DEADLINE")


Check = Callable[[], Awaitable[str]]
"""A readiness check: an empty string when ready, else what is missing. Bounded in time by its caller."""


def _unwatched(_telemetry: Telemetry) -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """A service to serve: its full name, what adds it to a server, and its readiness. ``watch`` gets the telemetry of
    the process before the first call, to state what is known from the start.
    """

    name: str
    register: Callable[[grpc.aio.Server], None]
    check: Check
    watch: Callable[[Telemetry], None] = _unwatched


class PortInUse(Exception):  # noqa: N818 - named for what is the case
    """The address to listen on cannot be bound; the message says which and what to do."""


async def always_ready() -> str:
    """The check of a service that is ready whenever it runs."""
    return ""


@asynccontextmanager
async def listening(
    listen: str, hosted: Sequence[Hosted], shared: SharedConfig, *, clock: Clock = time.monotonic
) -> AsyncIterator[str]:
    """Serves until the block is left, then drains. Yields the address bound, with the real port for port 0.

    Leaving: health says not-serving at once, new calls are still taken for ``drain_notice``, calls under way get
    ``drain_grace`` to finish. Raises PortInUse.
    """
    async with _watched(listen, hosted, shared) as telemetry:
        async with _serving(listen, hosted, shared, clock, telemetry) as address:
            yield address


@asynccontextmanager
async def _watched(listen: str, hosted: Sequence[Hosted], shared: SharedConfig) -> AsyncIterator[Telemetry]:
    """Metrics, served over HTTP unless switched off, and the tracer, which exports what is left at the end."""
    service = hosted[0].name.rpartition(".")[2].removesuffix("Service").lower()
    rules = TraceRules(
        endpoint=shared.otlp_endpoint,
        sample=shared.trace_sample,
        content=shared.trace_content,
        providers=shared.trace_providers,
    )
    telemetry = Telemetry(tracer=tracer(service, rules), metrics=Metrics())
    for each in hosted:
        each.watch(telemetry)
    try:
        async with AsyncExitStack() as lifetimes:
            await _expose(listen, shared, telemetry, lifetimes)
            yield telemetry
    finally:
        # In a thread: closing waits for the thread that exports.
        await asyncio.to_thread(telemetry.tracer.close)


async def _expose(listen: str, shared: SharedConfig, telemetry: Telemetry, lifetimes: AsyncExitStack) -> None:
    host, _, port = listen.rpartition(":")
    if not shared.metrics_offset or not int(port):
        return  # port 0 is chosen by the system for tests, which read the metrics in the process
    metrics_port = int(port) + shared.metrics_offset
    try:
        await lifetimes.enter_async_context(exposed(telemetry.metrics, host.strip("[]"), metrics_port))
    except OSError as fault:
        if fault.errno != errno.EADDRINUSE:
            raise
        raise PortInUse(
            f"cannot serve metrics on {host}:{metrics_port}: is another program using the port? "
            "Stop it, or set HEADWAY_METRICS_OFFSET"
        ) from fault


@asynccontextmanager
async def _serving(
    listen: str, hosted: Sequence[Hosted], shared: SharedConfig, clock: Clock, telemetry: Telemetry
) -> AsyncIterator[str]:
    rules = TimeRules(default=shared.default_deadline, longest=shared.max_deadline, reserve=shared.reserve)
    server = grpc.aio.server(
        interceptors=[MeshInterceptor(server_layers(rules, clock, telemetry))], options=_options(shared)
    )
    checked = health.aio.HealthServicer()
    for each in hosted:
        each.register(server)
        await checked.set(each.name, health_pb2.HealthCheckResponse.NOT_SERVING)
    await checked.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(checked, server)
    _add_development_services(server, hosted, shared)
    address = _bind(server, listen)
    await server.start()
    # Not a task group: it would wrap whatever the caller's block raises in an exception group.
    watching = asyncio.create_task(_keep_health(checked, hosted, telemetry.metrics), name="health")
    try:
        yield address
    finally:
        watching.cancel()
        try:
            await _drain(server, checked, shared)
        finally:
            await server.stop(0)


async def _drain(server: grpc.aio.Server, checked: Any, shared: SharedConfig) -> None:
    log = structlog.get_logger()
    await checked.enter_graceful_shutdown()
    log.info("draining", notice_s=shared.drain_notice, grace_s=shared.drain_grace)
    await asyncio.sleep(shared.drain_notice)
    await server.stop(shared.drain_grace)
    log.info("stopped")


async def _keep_health(checked: Any, hosted: Sequence[Hosted], metrics: Metrics) -> None:
    """Asks every check once a second, at most a second long, and publishes what has changed."""
    log = structlog.get_logger()
    missing: dict[str, str | None] = {each.name: None for each in hosted}
    while True:
        for each in hosted:
            answer = await _answer(each.check)
            if answer != missing[each.name]:
                missing[each.name] = answer
                await checked.set(each.name, _status(not answer))
                metrics.ready.labels(each.name).set(not answer)
                if answer:
                    log.warning("not ready", of=each.name, missing=answer)
                else:
                    log.info("ready", of=each.name)
        await checked.set("", _status(not any(missing.values())))
        # While something is missing look more often: readiness decides when a mesh that starts can be used.
        await asyncio.sleep(0.1 if any(missing.values()) else 1.0)


async def _answer(check: Check) -> str:
    try:
        async with asyncio.timeout(1.0):
            return await check()
    except TimeoutError:
        return "the readiness check took longer than a second"
    except Exception as fault:  # noqa: BLE001 - a check that fails is itself the answer
        return f"the readiness check failed: {type(fault).__name__}: {fault}"


def _status(ready: bool) -> Any:
    response = health_pb2.HealthCheckResponse
    return response.SERVING if ready else response.NOT_SERVING


def _add_development_services(server: grpc.aio.Server, hosted: Sequence[Hosted], shared: SharedConfig) -> None:
    names = [each.name for each in hosted] + [health.SERVICE_NAME]
    if shared.channelz:
        channelz.add_channelz_servicer(server)
        names.append("grpc.channelz.v1.Channelz")
    if shared.reflection:
        reflection.enable_server_reflection([*names, reflection.SERVICE_NAME], server)


def _bind(server: grpc.aio.Server, listen: str) -> str:
    try:
        port = server.add_insecure_port(listen)
    except RuntimeError as fault:
        raise PortInUse(
            f"cannot listen on {listen}: is another program using the port? Stop it or choose another address"
        ) from fault
    return f"{listen.rpartition(':')[0]}:{port}"


def _options(shared: SharedConfig) -> list[tuple[str, int]]:
    return [
        ("grpc.so_reuseport", 0),  # two servers on one port would share calls by chance instead of failing loudly
        ("grpc.max_concurrent_streams", shared.max_streams),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", PING_INTERVAL_MS // 2),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.enable_channelz", int(shared.channelz)),
    ]
