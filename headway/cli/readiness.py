"""Asks the parts of a mesh whether they are ready: ``grpc.health`` for services, a page for the simulators.

Decides nothing; an answer is an empty string or says what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headway.cli.endpoints import channel_options, reachable
from headway.server import Check

ASK_TIMEOUT = 1.0


@asynccontextmanager
async def asking(address: str, health: str) -> AsyncIterator[Check]:
    """A check of the gRPC service ``health`` at ``address``, or of the simulators when ``health`` is empty."""
    target = reachable(address)
    if not health:
        yield lambda: _page(target)
        return
    async with grpc.aio.insecure_channel(target, options=channel_options(target)) as channel:
        yield lambda: _serving(channel, health)


async def _serving(channel: grpc.aio.Channel, health: str) -> str:
    stub = health_pb2_grpc.HealthStub(channel)
    try:
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=health), timeout=ASK_TIMEOUT)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return f"what listens there does not offer {health}"
        return "does not answer"
    return "" if answer.status == health_pb2.HealthCheckResponse.SERVING else "runs, but is not ready"


async def _page(target: str) -> str:
    host, _, port = target.rpartition(":")
    try:
        async with asyncio.timeout(ASK_TIMEOUT):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            try:
                writer.write(f"GET /healthz HTTP/1.0\r\nHost: {target}\r\n\r\n".encode())
                status = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return "does not answer"
    return "" if b" 200 " in status else "what listens there is something else"
