"""What a server offers beside its own service answers in the standard protocols."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from headway.server import SharedConfig
from headway.testing import hosting, plain_channel
from tests.contract.scripted_service import METHOD, SERVICE, TITLES, scripted

BESIDE = {"grpc.channelz.v1.Channelz", "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}


def listed(target: str) -> set[str]:
    with grpc.insecure_channel(target) as channel:
        return set(ProtoReflectionDescriptorDatabase(channel).get_services())


def asked_without_stubs(target: str, query: str) -> list[Any]:
    """Calls the service with classes made from what reflection says alone."""
    with grpc.insecure_channel(target) as channel:
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        method = pool.FindServiceByName(SERVICE).FindMethodByName("Recommend")
        request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        call = channel.unary_stream(
            f"/{METHOD}", request_serializer=request.SerializeToString, response_deserializer=response.FromString
        )
        return list(call(request(query=query), timeout=10.0))


async def test_reflection_lists_the_services(target: str) -> None:
    assert await asyncio.to_thread(listed, target) == {SERVICE, *BESIDE}


async def test_a_client_without_stubs_can_call_by_reflection_alone(target: str) -> None:
    events = await asyncio.to_thread(asked_without_stubs, target, "제주도 3박4일 가족여행")
    assert [event.WhichOneof("event") for event in events] == ["plan", "item", "item", "item", "notice", "summary"]
    assert [event.item.title for event in events[1:4]] == list(TITLES.values())


async def test_health_answers_for_the_service_and_for_the_server(target: str) -> None:
    async with plain_channel(target) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for name in (SERVICE, ""):
            watch = health.Watch(health_pb2.HealthCheckRequest(service=name), timeout=10.0)
            async for answer in watch:
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    break
            watch.cancel()


async def test_channelz_shows_the_connection_that_asks(target: str) -> None:
    async with plain_channel(target) as channel:
        channelz: Any = channelz_pb2_grpc.ChannelzStub(channel)
        servers = (await channelz.GetServers(channelz_pb2.GetServersRequest(), timeout=10.0)).server
        ports = set()
        for server in servers:
            ask = channelz_pb2.GetServerSocketsRequest(server_id=server.ref.server_id)
            for each in (await channelz.GetServerSockets(ask, timeout=10.0)).socket_ref:
                socket = await channelz.GetSocket(channelz_pb2.GetSocketRequest(socket_id=each.socket_id), timeout=10.0)
                ports.add(socket.socket.local.tcpip_address.port)
    assert int(target.rpartition(":")[2]) in ports


async def test_reflection_and_channelz_can_be_switched_off() -> None:
    closed = SharedConfig(drain_notice=0.0, drain_grace=1.0, reflection=False, channelz=False)
    async with hosting(scripted(), shared=closed) as target, plain_channel(target) as channel:
        for method in (
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            "/grpc.channelz.v1.Channelz/GetServers",
        ):
            call: Any = channel.unary_unary(method)
            assert await call(b"", timeout=10.0).code() is grpc.StatusCode.UNIMPLEMENTED
