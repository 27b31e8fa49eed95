"""What the interceptors, the server and the channels of the mesh do, over real gRPC on loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headway import request
from headway.budget import Budget
from headway.channel import connected, reachable, resolvable
from headway.errors import HeadwayError, Reason, reason_of
from headway.interceptors import BUDGET_KEY
from headway.messages import budget_to_message
from headway.request import DeadlineSource, RequestScope
from headway.server import Hosted, PortInUse, SharedConfig, always_ready, listening
from headway.testing import channel, eventually, hosting, plain_channel
from headway.v1 import generator_pb2, generator_pb2_grpc, retrieval_pb2, router_pb2, router_pb2_grpc

ROUTER = "headway.v1.RouterService"
GENERATOR = "headway.v1.GeneratorService"
Route = Callable[[router_pb2.RouteRequest, Any], Awaitable[router_pb2.RouteResponse]]


class ScriptedRouter(router_pb2_grpc.RouterServiceServicer):
    """A neighbour that does what the test says."""

    def __init__(self, script: Route) -> None:
        self.script = script

    async def Route(self, request: router_pb2.RouteRequest, context: Any) -> router_pb2.RouteResponse:
        return await self.script(request, context)


def router(script: Route, check: Callable[[], Awaitable[str]] = always_ready) -> Hosted:
    servicer = ScriptedRouter(script)
    return Hosted(
        name=ROUTER,
        register=lambda server: router_pb2_grpc.add_RouterServiceServicer_to_server(servicer, server),
        check=check,
    )


async def answer(_request: router_pb2.RouteRequest, _context: Any) -> router_pb2.RouteResponse:
    return router_pb2.RouteResponse(language="ko")


def detail(error: grpc.aio.AioRpcError, kind: type[Any]) -> Any:
    """The first status detail of that kind, or None."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for packed in status_pb2.Status.FromString(value).details:
                message = kind()
                if packed.Unpack(message):
                    return message
    return None


async def route(target: str, query: str = "q", **call: Any) -> router_pb2.RouteResponse:
    async with plain_channel(target) as open_channel:
        stub: Any = router_pb2_grpc.RouterServiceStub(open_channel)
        return await stub.Route(router_pb2.RouteRequest(query=query), **call)


async def test_a_broken_rule_comes_back_naming_each_field() -> None:
    async with hosting(router(answer)) as target:
        async with plain_channel(target) as open_channel:
            stub: Any = router_pb2_grpc.RouterServiceStub(open_channel)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.Route(router_pb2.RouteRequest(query="", locale="x" * 99))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    fields = [each.field for each in detail(caught.value, error_details_pb2.BadRequest).field_violations]
    assert fields == ["query", "locale"]
    assert detail(caught.value, error_details_pb2.ErrorInfo).reason == "INVALID_REQUEST"


async def test_repeated_fields_are_named_with_their_index() -> None:
    class Nothing(generator_pb2_grpc.GeneratorServiceServicer):
        async def Generate(self, request: Any, context: Any) -> None:
            raise AssertionError("never reached")

    hosted = Hosted(
        name=GENERATOR,
        register=lambda server: generator_pb2_grpc.add_GeneratorServiceServicer_to_server(Nothing(), server),
        check=always_ready,
    )
    async with hosting(hosted) as target, plain_channel(target) as open_channel:
        stub: Any = generator_pb2_grpc.GeneratorServiceStub(open_channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in stub.Generate(generator_pb2.GenerateRequest(query="q", section="s", count=99)):
                pass
    fields = [each.field for each in detail(caught.value, error_details_pb2.BadRequest).field_violations]
    assert fields == ["count", "records"]
    assert retrieval_pb2.Record().record_id == ""


async def test_the_handler_sees_the_callers_deadline() -> None:
    seen: list[RequestScope] = []

    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        seen.append(request.current())
        return router_pb2.RouteResponse()

    async with hosting(router(script)) as target:
        await route(target, timeout=3.0)
        await route(target)
        await route(target, timeout=3600.0)
    assert [scope.source for scope in seen] == [DeadlineSource.CALLER, DeadlineSource.DEFAULT, DeadlineSource.CLAMPED]
    assert 1.0 < seen[0].deadline.remaining() <= 3.0
    assert seen[1].deadline.remaining() <= 5.0
    assert seen[2].deadline.remaining() <= 60.0
    assert len({scope.request_id for scope in seen}) == 3


@pytest.mark.parametrize("timeout", [0.2, 0.95, 1.0, 4.999, 9.9, 12.0, 31.7])
async def test_the_deadline_seen_is_never_later_than_the_callers(timeout: float) -> None:
    seen: list[float] = []

    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        seen.append(request.current().deadline.instant)
        return router_pb2.RouteResponse()

    async with hosting(router(script)) as target, plain_channel(target) as open_channel:
        stub: Any = router_pb2_grpc.RouterServiceStub(open_channel)
        for _ in range(20):
            # The runtime counts in whole milliseconds.
            latest = time.monotonic() + timeout + 0.002
            await stub.Route(router_pb2.RouteRequest(query="q"), timeout=timeout)
            assert seen[-1] <= latest + 0.002


async def test_time_only_shrinks_from_hop_to_hop_and_the_budget_travels() -> None:
    seen: list[RequestScope] = []

    async def last(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        seen.append(request.current())
        return router_pb2.RouteResponse()

    async with hosting(router(last)) as second_target, channel(second_target, ROUTER) as onward:
        stub: Any = router_pb2_grpc.RouterServiceStub(onward)

        async def first(message: Any, _context: Any) -> router_pb2.RouteResponse:
            seen.append(request.current())
            await stub.Route(message, timeout=1000.0)
            return await stub.Route(message, timeout=0.5)

        async with hosting(router(first)) as first_target:
            budget = Budget(request_id="abc", tenant="t", first_item_within=0.3)
            metadata = ((BUDGET_KEY, budget_to_message(budget).SerializeToString()),)
            await route(first_target, timeout=4.0, metadata=metadata)
    entered, inherited, own = seen
    assert {scope.budget for scope in seen} == {budget}
    assert inherited.deadline.instant <= entered.deadline.instant + 0.05
    assert own.deadline.instant < inherited.deadline.instant - 1.0


async def test_background_work_does_not_inherit_the_deadline() -> None:
    inside: list[RequestScope | None] = []

    async def background() -> None:
        inside.append(request.current_or_none())

    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        inside.append(request.current_or_none())
        async with asyncio.TaskGroup() as tasks:
            request.detached(tasks, background(), name="background")
        return router_pb2.RouteResponse()

    async with hosting(router(script)) as target:
        await route(target, timeout=2.0)
    assert inside[0] is not None
    assert inside[1] is None


async def test_a_call_outside_of_a_request_needs_a_timeout_of_its_own() -> None:
    async with hosting(router(answer)) as target, channel(target, ROUTER) as open_channel:
        stub: Any = router_pb2_grpc.RouterServiceStub(open_channel)
        with pytest.raises(ValueError, match="without a timeout"):
            await stub.Route(router_pb2.RouteRequest(query="q"))
        assert (await stub.Route(router_pb2.RouteRequest(query="q"), timeout=2.0)).language == "ko"


async def test_an_error_of_ours_keeps_its_reason_and_facts() -> None:
    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        raise HeadwayError(Reason.OVERLOADED, "too much in flight; try again", retry_after=0.25, in_flight=7)

    async with hosting(router(script)) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await route(target, timeout=2.0)
    info = detail(caught.value, error_details_pb2.ErrorInfo)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert (info.reason, info.domain, dict(info.metadata)) == ("OVERLOADED", "headway", {"in_flight": "7"})
    assert detail(caught.value, error_details_pb2.RetryInfo).retry_delay.nanos == 250_000_000
    assert reason_of(caught.value) == "OVERLOADED"


@pytest.mark.parametrize("grouped", [False, True])
async def test_an_unforeseen_exception_never_shows_its_text(grouped: bool) -> None:
    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        fault = RuntimeError("the password is swordfish")
        raise ExceptionGroup("many", [fault]) if grouped else fault

    async with hosting(router(script)) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await route(target, timeout=2.0)
        assert caught.value.code() is grpc.StatusCode.INTERNAL
        assert "swordfish" not in repr(caught.value)


async def test_a_single_error_inside_a_task_group_is_still_that_error() -> None:
    async def refuse() -> None:
        raise HeadwayError(Reason.NOTHING_FOUND, "nothing here")

    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(refuse())
        raise AssertionError("the group raises")

    async with hosting(router(script)) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await route(target, timeout=2.0)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_stray_cancellation_does_not_leave_the_caller_waiting() -> None:
    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        raise asyncio.CancelledError

    async with hosting(router(script)) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await route(target, timeout=10.0)
    assert caught.value.code() is grpc.StatusCode.INTERNAL


async def test_a_caller_that_leaves_cancels_the_handler() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError("never set")

    async with hosting(router(script)) as target, plain_channel(target) as open_channel:
        stub: Any = router_pb2_grpc.RouterServiceStub(open_channel)
        call = stub.Route(router_pb2.RouteRequest(query="q"), timeout=30.0)
        await asyncio.wait_for(started.wait(), 5)
        call.cancel()
        await asyncio.wait_for(cancelled.wait(), 5)


async def test_a_malformed_budget_is_refused_by_name() -> None:
    async with hosting(router(answer)) as target:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await route(target, timeout=2.0, metadata=((BUDGET_KEY, b"\xff\xff\xff"),))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        long_id = budget_to_message(Budget(request_id="x" * 65)).SerializeToString()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await route(target, timeout=2.0, metadata=((BUDGET_KEY, long_id),))
    fields = [each.field for each in detail(caught.value, error_details_pb2.BadRequest).field_violations]
    assert fields == [f"{BUDGET_KEY}.request_id"]


async def test_health_follows_readiness_and_ends_with_not_serving() -> None:
    missing = "the model is not loaded"

    async def check() -> str:
        return missing

    async def status(open_channel: Any) -> Any:
        stub: Any = health_pb2_grpc.HealthStub(open_channel)
        return (await stub.Check(health_pb2.HealthCheckRequest(service=ROUTER), timeout=2.0)).status

    response = health_pb2.HealthCheckResponse
    async with hosting(router(answer, check)) as target, plain_channel(target) as open_channel:
        assert await status(open_channel) == response.NOT_SERVING
        missing = ""

        async def serving() -> bool:
            return bool(await status(open_channel) == response.SERVING)

        await eventually(serving, what="serving")
        async with channel(target, ROUTER) as mesh_channel:
            assert await reachable(mesh_channel, ROUTER)() == ""


async def test_a_stop_says_not_serving_first_and_lets_running_calls_finish() -> None:
    started, finish, leave = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
        started.set()
        await finish.wait()
        return router_pb2.RouteResponse(language="done")

    targets: asyncio.Queue[str] = asyncio.Queue()

    async def serve() -> None:
        async with listening("127.0.0.1:0", [router(script)], SharedConfig(drain_notice=0.0, drain_grace=5.0)) as at:
            targets.put_nowait(at)
            await leave.wait()

    async with asyncio.TaskGroup() as tasks:
        server = tasks.create_task(serve())
        target = await targets.get()
        async with plain_channel(target) as open_channel:
            watch = health_pb2_grpc.HealthStub(open_channel).Watch(health_pb2.HealthCheckRequest(service=ROUTER))
            states: list[Any] = [(await watch.read()).status]
            call = asyncio.create_task(route(target, timeout=20.0))
            await asyncio.wait_for(started.wait(), 5)
            leave.set()
            while states[-1] != health_pb2.HealthCheckResponse.NOT_SERVING or len(states) < 2:
                states.append((await asyncio.wait_for(watch.read(), 5)).status)
            assert not call.done()
            finish.set()
            assert (await call).language == "done"
            watch.cancel()
        await server


async def test_a_port_in_use_is_said_in_plain_words() -> None:
    async with hosting(router(answer)) as target:
        with pytest.raises(PortInUse, match="another program"):
            async with listening(target, [router(answer)], SharedConfig()):
                pass


async def test_calls_go_round_robin_over_those_that_serve() -> None:
    calls: list[str] = []

    def named(name: str) -> Route:
        async def script(_request: Any, _context: Any) -> router_pb2.RouteResponse:
            calls.append(name)
            return router_pb2.RouteResponse()

        return script

    async def never() -> str:
        return "broken"

    async with (
        hosting(router(named("one"))) as one,
        hosting(router(named("two"))) as two,
        hosting(router(named("sick"), never)) as sick,
        connected(f"{one},{two},{sick}", ROUTER) as open_channel,
    ):
        stub: Any = router_pb2_grpc.RouterServiceStub(open_channel)

        async def both_called() -> bool:
            await stub.Route(router_pb2.RouteRequest(query="q"), timeout=5.0, wait_for_ready=True)
            return {"one", "two"} <= set(calls)

        await eventually(both_called, what="both healthy servers were called")
        assert "sick" not in calls


def test_a_list_of_addresses_becomes_one_target() -> None:
    assert resolvable("a:1") == "a:1"
    assert resolvable("127.0.0.1:1,localhost:2") == "ipv4:127.0.0.1:1,127.0.0.1:2"
    assert resolvable("dns:///router:1") == "dns:///router:1"
