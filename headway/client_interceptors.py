"""What happens around every call of the mesh, on the side that calls.

Sends the stricter of the inherited deadline and the call's own timeout, the budget and the trace. Knows no service.
"""

from __future__ import annotations

from typing import Any

import grpc

from headway.interceptors import BUDGET_KEY
from headway.messages import budget_to_message
from headway.request import current_or_none
from headway.telemetry import TRACEPARENT


class UnaryDeadline(grpc.aio.UnaryUnaryClientInterceptor):
    """Sends time and budget with every call that is answered by one message; see ``with_time``."""

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(with_time(client_call_details), request)


class StreamDeadline(grpc.aio.UnaryStreamClientInterceptor):
    """Sends time and budget with every call that is answered by a stream; see ``with_time``.

    A class of its own: the runtime takes an object for interceptors of one shape only.
    """

    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(with_time(client_call_details), request)


def client_interceptors() -> list[grpc.aio.ClientInterceptor]:
    """The interceptors of every channel of the mesh."""
    return [UnaryDeadline(), StreamDeadline()]


def with_time(details: grpc.aio.ClientCallDetails) -> grpc.aio.ClientCallDetails:
    """The details with the stricter of the inherited deadline and the call's own timeout, the budget and the trace.

    Outside of a request, as in background work, a call must bring a timeout of its own: ValueError without one.
    """
    scope = current_or_none()
    if scope is None:
        if details.timeout is None:
            raise ValueError(f"{details.method!r} was called without a timeout and outside of a request")
        return details
    timeout = scope.deadline.remaining()
    if details.timeout is not None:
        timeout = min(timeout, details.timeout)
    metadata = details.metadata or grpc.aio.Metadata()
    if metadata.get(BUDGET_KEY) is None:
        metadata.add(BUDGET_KEY, budget_to_message(scope.budget).SerializeToString())
    if traceparent := scope.span.traceparent():
        metadata.add(TRACEPARENT, traceparent)
    return grpc.aio.ClientCallDetails(
        method=details.method,
        timeout=timeout,
        metadata=metadata,
        credentials=details.credentials,
        wait_for_ready=details.wait_for_ready,
    )
