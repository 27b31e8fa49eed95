"""Runs the simulators from the command line until they are told to stop. Composition root: reads arguments, decides
nothing."""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import signal
import sys
from collections.abc import Sequence

from simulators.reading import ScenarioError
from simulators.scenario import Scenario
from simulators.scenario_file import load
from simulators.server import running

UNUSABLE = 78
"""EX_CONFIG: what was configured cannot be used."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; the exit code is 0 then, and 78 when the scenario or the port cannot be used."""
    options = _parser().parse_args(arguments)
    try:
        scenario = load(options.scenario)
    except ScenarioError as error:
        print(f"simulators: scenario {error.source} cannot be used:", *error.faults, sep="\n  - ", file=sys.stderr)
        return UNUSABLE
    try:
        _run(_serve(scenario, options))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL):
            raise
        where = f"{options.host}:{options.port}"
        reason = os.strerror(error.errno).lower()
        print(f"simulators: cannot listen on {where}: {reason}; choose another with --port", file=sys.stderr)
        return UNUSABLE
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulators", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=50060, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--scenario", default="default", help="a name from simulators/scenarios, or a TOML file")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and requests give the same run")
    return parser


async def _serve(scenario: Scenario, options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopped.set)
    async with running(scenario=scenario, seed=options.seed, host=options.host, port=options.port) as simulation:
        print(f"simulators: scenario {scenario.name}, seed {options.seed}, on {simulation.url}", flush=True)
        await stopped.wait()


def _run(main_coroutine: object) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main_coroutine)  # type: ignore[arg-type]
    else:
        uvloop.run(main_coroutine)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
