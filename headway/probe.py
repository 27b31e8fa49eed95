"""Asks a server whether it is ready: ``python -m headway.probe HOST:PORT [SERVICE]``, for health checks of containers.

Decides nothing: readiness is what ``grpc.health.v1`` of the server says. Exit codes: 0 when it says SERVING, 1 for
anything else, 64 when the command is wrong. Kept to the parts of gRPC that it needs, because it starts often.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headway.settings import address, positive_span

EX_USAGE = 64


def missing(target: str, service: str, timeout: float) -> str:
    """Why ``service`` at ``target`` is not ready, as one sentence; empty when it is. An empty service name stands for
    the server as a whole. Answers within ``timeout`` seconds.
    """
    named = service or "the server"
    with grpc.insecure_channel(target) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        try:
            answer = check(health_pb2.HealthCheckRequest(service=service), timeout=timeout)
        except grpc.RpcError as error:
            return _why(error, target, named, timeout)
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return ""
    return f"{named} at {target} says {health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code; what is missing goes to standard error."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as leaving:  # argparse leaves with 2, which health checks of containers reserve
        return EX_USAGE if leaving.code else 0
    why = missing(options.target, options.service, options.timeout)
    if why:
        sys.stderr.write(why + "\n")
    return 1 if why else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m headway.probe", description="Asks a server whether it is ready.")
    parser.add_argument("target", type=address, help="host:port of the server")
    parser.add_argument("service", nargs="?", default="", help="full name of the service (default: the whole server)")
    parser.add_argument("--timeout", type=positive_span, default="2s", help="longest wait (default: %(default)s)")
    return parser


def _why(error: grpc.RpcError, target: str, named: str, timeout: float) -> str:
    code = error.code()
    if code is grpc.StatusCode.NOT_FOUND:
        return f"{target} does not know {named}"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"{named} at {target} did not answer within {timeout:g} s"
    return f"{named} at {target} cannot be reached: {code.name}"


if __name__ == "__main__":
    sys.exit(main())
