"""Channels from one service to another: one per target, for the life of the process.

Decides keepalive, balancing, health checking and retries. A retry happens only for calls that have sent nothing back
yet, and only while the retry throttle has tokens. Knows no service.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headway.client_interceptors import client_interceptors
from headway.server import MAX_MESSAGE_BYTES, PING_INTERVAL_MS, Check


@asynccontextmanager
async def connected(target: str, service: str) -> AsyncIterator[grpc.aio.Channel]:
    """A channel for calls of ``service`` (full name) at ``target``; it connects at once and is closed at the end.

    ``target`` is ``host:port``, several of them with commas between, or a gRPC name with a scheme. With several
    addresses calls go round robin over those that say SERVING.
    """
    channel = grpc.aio.insecure_channel(
        resolvable(target), options=_options(service), interceptors=client_interceptors()
    )
    channel.get_state(try_to_connect=True)
    try:
        yield channel
    finally:
        await channel.close(grace=None)


def reachable(channel: grpc.aio.Channel, service: str) -> Check:
    """A readiness check: the service at the other end says SERVING."""
    stub = health_pb2_grpc.HealthStub(channel)

    async def check() -> str:
        try:
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=0.5)
        except grpc.aio.AioRpcError as error:
            return f"{service} cannot be reached ({error.code().name})"
        serving = answer.status == health_pb2.HealthCheckResponse.SERVING
        return "" if serving else f"{service} is not ready"

    return check


def resolvable(target: str) -> str:
    """The target as gRPC resolves it; a list of addresses becomes one ``ipv4:`` or ``ipv6:`` target."""
    if "," not in target or ":///" in target:
        return target
    parts = [part.strip().replace("localhost", "127.0.0.1") for part in target.split(",")]
    return ("ipv6:" if parts[0].startswith("[") else "ipv4:") + ",".join(parts)


def service_config(service: str) -> str:
    """The service config of a channel, as JSON.

    Health checking needs round robin; with one address round robin costs nothing. Retries: three tries in all, only on
    UNAVAILABLE, and none while more than half of the throttle's tokens are spent.
    """
    return json.dumps(
        {
            "loadBalancingConfig": [{"round_robin": {}}],
            "healthCheckConfig": {"serviceName": service},
            "methodConfig": [
                {
                    "name": [{"service": service}],
                    "retryPolicy": {
                        "maxAttempts": 3,
                        "initialBackoff": "0.02s",
                        "maxBackoff": "0.2s",
                        "backoffMultiplier": 2,
                        "retryableStatusCodes": ["UNAVAILABLE"],
                    },
                }
            ],
            "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
        }
    )


def _options(service: str) -> list[tuple[str, str | int]]:
    return [
        ("grpc.service_config", service_config(service)),
        ("grpc.enable_retries", 1),
        ("grpc.keepalive_time_ms", PING_INTERVAL_MS),
        ("grpc.keepalive_timeout_ms", 5_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ]
