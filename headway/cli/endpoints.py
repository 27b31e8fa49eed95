"""Where the parts of the mesh listen and what environment they are started with.

Decides addresses, the variables that set them, and when the simulators stand in for providers. Starts nothing and
reads no environment by itself: whoever calls passes one.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.server import MAX_MESSAGE_BYTES, SharedConfig
from headway.settings import SettingsError, address, path, read, setting

PROVIDER_KEYS = ("HEADWAY_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY", "HEADWAY_OPENAI_API_KEY", "OPENAI_API_KEY")
PROVIDER_URLS = ("HEADWAY_ANTHROPIC_BASE_URL", "HEADWAY_OPENAI_BASE_URL")
WEB_KEYS = ("HEADWAY_TAVILY_API_KEY", "HEADWAY_BRAVE_API_KEY")
SIMULATORS = "simulators"
LAST_PORT = 65535
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PORT_TRIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshConfig:
    """What may be set for a mesh on one machine."""

    router: str = setting("HEADWAY_ROUTER_LISTEN", address, "127.0.0.1:50052", "address of the router")
    retrieval: str = setting("HEADWAY_RETRIEVAL_LISTEN", address, "127.0.0.1:50053", "address of retrieval")
    generator: str = setting("HEADWAY_GENERATOR_LISTEN", address, "127.0.0.1:50054", "address of the generator")
    orchestrator: str = setting("HEADWAY_ORCHESTRATOR_LISTEN", address, "127.0.0.1:50051", "address of the public API")
    simulators: str = setting("HEADWAY_SIMULATORS_LISTEN", address, "127.0.0.1:50060", "address of the simulators")
    state: Path = setting("HEADWAY_STATE", path, "var", "folder for logs and index files")


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A part of the mesh: the module that is run, what sets its address, and the gRPC service that says it is ready
    (empty: plain HTTP). Parts with the higher ``layer`` call those with the lower ones and are stopped first.
    """

    name: str
    module: str
    variable: str
    layer: int
    target: str = ""
    health: str = ""


ROLES = (
    Role(name=SIMULATORS, module="simulators", variable="HEADWAY_SIMULATORS_LISTEN", layer=0),
    Role(
        name="router",
        module="services.router",
        variable="HEADWAY_ROUTER_LISTEN",
        layer=1,
        target="HEADWAY_ROUTER_TARGET",
        health="headway.v1.RouterService",
    ),
    Role(
        name="retrieval",
        module="services.retrieval",
        variable="HEADWAY_RETRIEVAL_LISTEN",
        layer=1,
        target="HEADWAY_RETRIEVAL_TARGET",
        health="headway.v1.RetrievalService",
    ),
    Role(
        name="generator",
        module="services.generator",
        variable="HEADWAY_GENERATOR_LISTEN",
        layer=1,
        target="HEADWAY_GENERATOR_TARGET",
        health="headway.v1.GeneratorService",
    ),
    Role(
        name="orchestrator",
        module="services.orchestrator",
        variable="HEADWAY_ORCHESTRATOR_LISTEN",
        layer=2,
        health="headway.v1.RecommendationService",
    ),
)
SERVICES = tuple(role.name for role in ROLES if role.name != SIMULATORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One process to run: its role, its arguments, its whole environment and the address it listens on. ``metrics`` is
    the address of its metrics, empty when it has none.
    """

    role: Role
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    address: str
    metrics: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a user asked to start; ``only`` empty means everything. ``simulators`` false keeps them out in any case."""

    simulators: bool = True
    only: tuple[str, ...] = ()
    scenario: str = "default"
    seed: int = 1
    log_level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """What will be started, and one sentence on where answers will come from."""

    children: tuple[Child, ...]
    answers_from: str
    simulated: bool


def compose(environment: Mapping[str, str], wanted: Wanted) -> Composition:
    """The processes of a mesh. Port 0 takes a free port now. Raises SettingsError."""
    config = read(MeshConfig, environment)
    offset = read(SharedConfig, environment).metrics_offset
    chosen = {role.name: with_real_port(getattr(config, role.name), metrics_offset=offset) for role in ROLES}
    simulated = wanted.simulators and not has_provider(environment)
    shared = dict(environment) | _neighbours(environment, chosen) | _without_proxy(environment)
    if wanted.log_level:
        shared["HEADWAY_LOG_LEVEL"] = wanted.log_level
    if simulated:
        shared |= _simulated(environment, reachable(chosen[SIMULATORS]))
    names = [name for name in SERVICES if not wanted.only or name in wanted.only]
    if simulated and ("generator" in names or "retrieval" in names):
        names.append(SIMULATORS)
    children = tuple(
        Child(
            role=role,
            arguments=_simulator_arguments(chosen[role.name], wanted) if role.name == SIMULATORS else (),
            environment=shared | {role.variable: chosen[role.name]},
            address=chosen[role.name],
            metrics="" if role.name == SIMULATORS else metrics_address(chosen[role.name], offset),
        )
        for role in ROLES
        if role.name in names
    )
    return Composition(children=children, answers_from=_answers_from(environment, simulated), simulated=simulated)


def has_provider(environment: Mapping[str, str]) -> bool:
    """Whether a model provider has a key; one without a key takes no part, whatever its address."""
    return bool(given(environment, PROVIDER_KEYS))


def given(environment: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Those of the variables that are set to something."""
    return [name for name in names if environment.get(name, "").strip()]


def reachable(listen: str) -> str:
    """The address at which this machine reaches what listens on ``listen``."""
    host, _, port = listen.rpartition(":")
    return {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host) + ":" + port  # noqa: S104 - only translated


def channel_options(target: str) -> list[tuple[str, int]]:
    """Options of a channel from this machine to ``target``."""
    here = any(name in target for name in LOOPBACK)
    return [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 500),
        # A proxy that is set for the web would be asked for this machine as well.
        ("grpc.enable_http_proxy", 0 if here else 1),
    ]


def with_real_port(listen: str, *, metrics_offset: int = 0) -> str:
    """``listen`` itself, or with a port that is free now, and whose metrics port is, in place of port 0."""
    host, _, port = listen.rpartition(":")
    if port != "0":
        return listen
    for _try in range(_PORT_TRIES):
        with socket.socket(_family(host)) as probe:
            probe.bind((host.strip("[]"), 0))
            found = f"{host}:{probe.getsockname()[1]}"
        metrics = metrics_address(found, metrics_offset)
        if not metrics or not cannot_bind(metrics):
            return found
    raise SettingsError(f"no free port was found on {host}")


def metrics_address(listen: str, offset: int) -> str:
    """Where a service that listens on ``listen`` serves its metrics; empty when it does not."""
    host, _, port = listen.rpartition(":")
    return f"{host}:{int(port) + offset}" if offset else ""


def taken(children: Iterable[Child]) -> list[str]:
    """One sentence for each address that cannot be bound, naming the port and the variable that sets it."""
    faults = []
    for child in children:
        why = cannot_bind(child.address)
        port = child.address.rpartition(":")[2]
        if why:
            faults.append(
                f"{child.role.name}: port {port} cannot be used ({why}). Stop what uses it, or choose another address "
                f"with {child.role.variable}, for example {child.role.variable}=127.0.0.1:0 for any free port."
            )
        elif child.metrics and (why := cannot_bind(child.metrics)):
            faults.append(
                f"{child.role.name}: port {child.metrics.rpartition(':')[2]}, for its metrics, cannot be used ({why}). "
                "Stop what uses it, or choose another distance with HEADWAY_METRICS_OFFSET; 0 leaves metrics out."
            )
    return faults


def cannot_bind(listen: str) -> str:
    """Why ``listen`` cannot be bound, or an empty string when it can."""
    host, _, port = listen.rpartition(":")
    if int(port) > LAST_PORT:
        return f"there is no port above {LAST_PORT}"
    with socket.socket(_family(host)) as probe:
        # As servers do it, so that connections of the last run that are still closing do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), int(port)))
            # Binding alone succeeds on some systems while another listens.
            probe.listen(1)
        except OSError as fault:
            return (fault.strerror or str(fault)).lower()
    return ""


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _neighbours(environment: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    return {
        role.target: environment.get(role.target, "").strip() or reachable(chosen[role.name])
        for role in ROLES
        if role.target
    }


def _without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """Lets no proxy that is set for the web come between the parts of the mesh."""
    name = "no_proxy" if "no_proxy" in environment else "NO_PROXY"
    direct = [part for part in environment.get(name, "").split(",") if part.strip()]
    return {name: ",".join(dict.fromkeys([*direct, *LOOPBACK]))}


def _simulated(environment: Mapping[str, str], at: str) -> dict[str, str]:
    """Settings that lead the generator and retrieval to the simulators; a real web search that is set stays."""
    settings = {
        "HEADWAY_ANTHROPIC_BASE_URL": f"http://{at}/anthropic",
        "HEADWAY_OPENAI_BASE_URL": f"http://{at}/openai/v1",
        "HEADWAY_ANTHROPIC_API_KEY": "simulated",
        "HEADWAY_OPENAI_API_KEY": "simulated",
    }
    if not given(environment, (*WEB_KEYS, "HEADWAY_WEB_SEARCH_URL")):
        settings["HEADWAY_WEB_SEARCH_URL"] = f"http://{at}/web"
    return settings


def _simulator_arguments(listen: str, wanted: Wanted) -> tuple[str, ...]:
    host, _, port = listen.rpartition(":")
    return ("--host", host.strip("[]"), "--port", port, "--scenario", wanted.scenario, "--seed", str(wanted.seed))


def _answers_from(environment: Mapping[str, str], simulated: bool) -> str:
    unused = [] if has_provider(environment) else given(environment, PROVIDER_URLS)
    hint = f" {' and '.join(unused)} has no effect without a key; a server that needs none takes any word." * bool(
        unused
    )
    if simulated:
        return "No provider key is set: answers come from simulators, not from a model." + hint
    if has_provider(environment):
        return "Answers come from the model provider that a key is set for."
    return "No provider key is set and no simulators are wanted: items are written from the catalogue alone." + hint
