"""What happens around every call of the mesh, on the side that serves.

Error boundary, request scope, access log, validation, composed once per method. Knows no service; what happens on the
side that calls stands in ``headway.client_interceptors``.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

import grpc
import structlog
from google.protobuf.message import DecodeError

from headway.budget import Budget
from headway.deadline import Clock
from headway.errors import CODES, FieldViolation, HeadwayError, Reason, invalid, to_status
from headway.messages import budget_from_message
from headway.request import RequestScope, current_or_none, deadline_of_call, serving
from headway.telemetry import TRACEPARENT, Telemetry
from headway.v1 import budget_pb2
from headway.validation import violations_of

BUDGET_KEY = "headway-budget-bin"
"""Metadata key of the serialized ``headway.v1.Budget``."""

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Behaviour: TypeAlias = Callable[[Any, Context], Awaitable[Any]]
Layer: TypeAlias = Callable[[str, Behaviour], Behaviour]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRules:
    """Seconds: the deadline of callers that set none, the longest one accepted, and the reserve before each."""

    default: float
    longest: float
    reserve: float


class MeshInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the methods of ``headway.`` services in layers, the first layer outermost, once per method."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = tuple(layers)
        self._wrapped: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        method = handler_call_details.method
        if known := self._wrapped.get(method):
            return known
        handler = await continuation(handler_call_details)
        if handler is None or not method.startswith("/headway."):
            return handler
        # Only methods that exist get here, so the cache is bounded by the protos.
        wrapped = self._wrapped[method] = self._wrap(method, handler)
        return wrapped

    def _wrap(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        behaviour: Any = handler.unary_stream if handler.response_streaming else handler.unary_unary
        if handler.request_streaming or not asyncio.iscoroutinefunction(behaviour):
            raise TypeError(f"{method}: handlers are coroutines that take one message and write to their context")
        for layer in reversed(self._layers):
            behaviour = layer(method, behaviour)
        make = (
            grpc.unary_stream_rpc_method_handler if handler.response_streaming else grpc.unary_unary_rpc_method_handler
        )
        return make(
            behaviour,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def server_layers(rules: TimeRules, clock: Clock, telemetry: Telemetry) -> list[Layer]:
    """The layers of every service, outermost first. The order matters:

    1. the error boundary, because every other layer may raise and no exception may reach the runtime, which would send
       its text to the caller;
    2. the request scope, because whatever is logged or refused further in needs the request id and the deadline, and
       because the span and the metrics of a call must also see how it was refused;
    3. the access log, inside the scope for its id, outside validation so that refused requests are logged too;
    4. validation, last, so that the handler sees only what the protos allow.
    """
    return [error_boundary, request_scope(rules, clock, telemetry), access_log, validation]


def error_boundary(method: str, inner: Behaviour) -> Behaviour:
    """The only place that turns an exception into a status."""
    log = structlog.get_logger()

    async def bounded(request: Any, context: Context) -> Any:
        try:
            return await inner(request, context)
        except HeadwayError as error:
            await _abort(context, error)
        except grpc.aio.AbortError:
            raise
        except asyncio.CancelledError:
            if _being_cancelled():
                raise
            # A stray cancellation would leave the caller waiting: the runtime answers nothing for it.
            log.error("stray cancellation in a handler", method=method)
            await _abort(context, _our_bug())
        except BaseExceptionGroup as group:
            single = _single(group)
            if single is None:
                log.exception("unexpected errors", method=method)
            await _abort(context, single or _our_bug())
        except Exception:
            log.exception("unexpected error", method=method)
            await _abort(context, _our_bug())

    return bounded


def request_scope(rules: TimeRules, clock: Clock, telemetry: Telemetry) -> Layer:
    """Makes deadline, budget, request id and span known to everything that the handler starts, and counts its end."""
    metrics = telemetry.metrics

    def layer(method: str, inner: Behaviour) -> Behaviour:
        name = method.lstrip("/")

        async def scoped(request: Any, context: Context) -> Any:
            arrived = clock()
            remaining = context.time_remaining()
            deadline, source = deadline_of_call(remaining, default=rules.default, longest=rules.longest, clock=clock)
            budget, traceparent = _incoming(context)
            if not budget.request_id:
                budget = replace(budget, request_id=secrets.token_hex(8))
            span = telemetry.tracer.server_span(
                method, traceparent, {"headway.request_id": budget.request_id, "headway.deadline": deadline.remaining()}
            )
            scope = RequestScope(
                request_id=budget.request_id,
                deadline=deadline,
                source=source,
                budget=budget,
                arrived=arrived,
                clock=clock,
                default_reserve=rules.reserve,
                span=span,
                telemetry=telemetry,
            )
            code = "OK"
            try:
                with serving(scope), metrics.call(name):
                    if deadline.expired():
                        raise HeadwayError(Reason.DEADLINE_EXPIRED, "the deadline had passed on arrival", left_ms=0)
                    return await inner(request, context)
            except BaseException as fault:
                code = _code_of(fault)
                raise
            finally:
                span.note({"rpc.status_code": code, "rpc.response.status_code": code})
                span.end(error="" if code in {"OK", "CANCELLED"} else code)
                left = deadline.remaining()
                metrics.ended(name, code=code, spent=scope.spent(), left=left, hedge=budget.hedge)

        return scoped

    return layer


def access_log(method: str, inner: Behaviour) -> Behaviour:
    """One line a call: at debug level when it went well or its caller left, else at info or warning."""
    log = structlog.get_logger()

    async def logged(request: Any, context: Context) -> Any:
        scope = current_or_none()
        assert scope is not None, "the request scope is outside of the access log"
        try:
            answer = await inner(request, context)
        except HeadwayError as error:
            write = log.warning if CODES[error.reason] is grpc.StatusCode.UNAVAILABLE else log.info
            write("refused", method=method, reason=error.reason.value, detail=error.message, spent_ms=_ms(scope))
            raise
        except asyncio.CancelledError:
            log.debug("caller left", method=method, spent_ms=_ms(scope))
            raise
        log.debug("served", method=method, spent_ms=_ms(scope), left_ms=round(scope.deadline.remaining() * 1e3, 1))
        return answer

    return logged


def validation(_method: str, inner: Behaviour) -> Behaviour:
    """Refuses what breaks the rules declared in the protos, naming every field."""

    async def validated(request: Any, context: Context) -> Any:
        violations = violations_of(request)
        if violations:
            raise invalid(violations)
        return await inner(request, context)

    return validated


def _incoming(context: Context) -> tuple[Budget, str]:
    """The budget and the trace context that the caller sent, or their defaults."""
    budget, traceparent = Budget(), ""
    for key, value in context.invocation_metadata() or ():
        if key == BUDGET_KEY:
            budget = _parsed_budget(value)
        elif key == TRACEPARENT:
            traceparent = value if isinstance(value, str) else value.decode("ascii", "replace")
    return budget, traceparent


def answered_with(fault: BaseException) -> HeadwayError | None:
    """The error that the boundary will make of an exception; None when the caller has left and gets none."""
    if isinstance(fault, BaseExceptionGroup):
        fault = _single(fault) or fault
    if isinstance(fault, HeadwayError):
        return fault
    return None if isinstance(fault, asyncio.CancelledError) and _being_cancelled() else _our_bug()


def _code_of(fault: BaseException) -> str:
    error = answered_with(fault)
    return "CANCELLED" if error is None else CODES[error.reason].name


def _parsed_budget(value: str | bytes) -> Budget:
    try:
        message = budget_pb2.Budget.FromString(value if isinstance(value, bytes) else value.encode())
    except DecodeError as fault:
        violation = FieldViolation(BUDGET_KEY, "must hold a serialized headway.v1.Budget")
        raise invalid([violation]) from fault
    if violations := violations_of(message):
        raise invalid([FieldViolation(f"{BUDGET_KEY}.{each.field}", each.description) for each in violations])
    return budget_from_message(message)


async def _abort(context: Context, error: HeadwayError) -> NoReturn:
    status = to_status(error)
    trailing: list[tuple[str, str | bytes]] = [("grpc-status-details-bin", status.SerializeToString())]
    if error.reason is Reason.OVERLOADED:
        # Negative pushback tells the client's retry policy not to add to the load.
        trailing.append(("grpc-retry-pushback-ms", "-1"))
    await context.abort(CODES[error.reason], error.message, trailing_metadata=tuple(trailing))
    raise AssertionError("abort raises")  # pragma: no cover


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _our_bug() -> HeadwayError:
    return HeadwayError(Reason.INTERNAL, "an internal error; its text is in the log of the service")


def _single(group: BaseExceptionGroup[BaseException]) -> HeadwayError | None:
    """The HeadwayError of a task group that failed for just one such reason."""
    known, rest = group.split(HeadwayError)
    if known is None or rest is not None:
        return None
    first: BaseException = known
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, HeadwayError) else None


def _ms(scope: RequestScope) -> float:
    return round(scope.spent() * 1e3, 1)
