"""The life of a service process: configuration, logs, loop, signals, exit code.

Decides what happens before anything of a service runs and after all of it has ended. The first SIGTERM or SIGINT
drains, the second one leaves at once. Exit codes: 0 after a stop, 78 for unusable configuration, 69 for an address that
cannot be bound or a missing resource, 1 for anything unforeseen.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import structlog

from headway import logs
from headway.server import PortInUse, SharedConfig
from headway.settings import SettingsError, effective, read

Config = TypeVar("Config")
EX_UNAVAILABLE = 69
EX_CONFIG = 78


class Unusable(Exception):  # noqa: N818 - read as a state of the process, not as a kind of error
    """Something the process needs is missing or broken; the message says what and what to do."""


def run(
    service: str,
    kind: type[Config],
    serve: Callable[[Config, SharedConfig, asyncio.Event], Awaitable[None]],
    environment: Mapping[str, str],
) -> int:
    """Reads ``kind`` and the shared settings from ``environment`` and runs ``serve`` until a signal. Returns the exit
    code.
    """
    try:
        config, shared = read_all(kind, environment)
    except SettingsError as fault:
        sys.stderr.write(f"{service}: unusable configuration\n{fault}\n")
        return EX_CONFIG
    logs.configure(service=service, level=shared.log_level, style=shared.log_format)
    log = structlog.get_logger()
    log.info("starting", pid=os.getpid(), **effective(shared), **effective(config))
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_until_signal(config, shared, serve))
    except (PortInUse, Unusable) as known:
        log.error("cannot start", why=str(known))
        return EX_UNAVAILABLE
    except BaseExceptionGroup as group:
        # Task groups wrap what their children raise.
        expected, unforeseen = group.split((PortInUse, Unusable))
        if expected is None or unforeseen is not None:
            raise
        log.error("cannot start", why="; ".join(_texts(expected)))
        return EX_UNAVAILABLE
    return 0


def _texts(group: BaseExceptionGroup[BaseException]) -> list[str]:
    texts: list[str] = []
    for each in group.exceptions:
        texts.extend(_texts(each) if isinstance(each, BaseExceptionGroup) else [str(each)])
    return texts


def read_all(kind: type[Config], environment: Mapping[str, str]) -> tuple[Config, SharedConfig]:
    """The service's and the shared settings. Raises SettingsError that names the faults of both."""
    try:
        shared = read(SharedConfig, environment)
    except SettingsError as in_shared:
        try:
            read(kind, environment)
        except SettingsError as in_own:
            raise SettingsError(f"{in_own}\n{in_shared}") from in_shared
        raise
    return read(kind, environment), shared


async def _until_signal(
    config: Config, shared: SharedConfig, serve: Callable[[Config, SharedConfig, asyncio.Event], Awaitable[None]]
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(130)  # asked twice: leave at once, whatever is still running
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    await serve(config, shared, stop)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop  # not available everywhere

    return uvloop.new_event_loop
