"""The accounts of recent requests, kept in memory, and the service that shows them.

Decides what is kept and for how many requests: plan, notices, summary and failure of the latest ones. Refuses to keep
the query's words and the items. Nothing outlives the process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headway.deadline import Clock
from headway.errors import CODES, HeadwayError, Reason
from headway.interceptors import answered_with
from headway.messages import duration
from headway.v1 import explain_pb2, explain_pb2_grpc, ledger_pb2, recommendation_pb2

MOST_NOTICES = 64


class Account:
    """What is kept of one request. ``arrived`` is a reading of the clock."""

    __slots__ = ("_failure", "_notices", "_plan", "_summary", "arrived")

    def __init__(self, arrived: float) -> None:
        self.arrived = arrived
        self._plan: recommendation_pb2.Plan | None = None
        self._notices: list[ledger_pb2.Notice] = []
        self._summary: recommendation_pb2.Summary | None = None
        self._failure: explain_pb2.Failure | None = None

    def plan(self, plan: recommendation_pb2.Plan) -> None:
        """Keeps a copy without the words of the query."""
        self._plan = recommendation_pb2.Plan()
        self._plan.CopyFrom(plan)
        for slot in self._plan.slots:
            slot.ClearField("text")

    def notice(self, notice: ledger_pb2.Notice) -> None:
        """Keeps a notice; of an endless row of them the first ones."""
        if len(self._notices) < MOST_NOTICES:
            self._notices.append(notice)

    def summary(self, summary: recommendation_pb2.Summary) -> None:
        """Keeps the message itself, which nobody changes any more."""
        self._summary = summary

    def failed(self, fault: BaseException) -> None:
        """Keeps what the caller is told of a failure."""
        error = answered_with(fault)
        if error is None:
            self._failure = explain_pb2.Failure(code="CANCELLED")
        else:
            code = CODES[error.reason].name
            self._failure = explain_pb2.Failure(code=code, reason=error.reason.value, message=error.message)

    def message(self, now: float) -> explain_pb2.ExplainResponse:
        """The account as it travels."""
        return explain_pb2.ExplainResponse(
            plan=self._plan,
            notices=self._notices,
            summary=self._summary,
            failure=self._failure,
            age=duration(max(0.0, now - self.arrived)),
        )


class Recent:
    """The accounts of the latest ``keep`` requests by id; of two with one id the later."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self._accounts: OrderedDict[str, Account] = OrderedDict()

    @contextmanager
    def account(self, request_id: str, arrived: float) -> Iterator[Account]:
        """The account of a request that is answered inside of the block; what leaves the block is its failure."""
        account = Account(arrived)
        if self.keep:
            self._accounts.pop(request_id, None)
            self._accounts[request_id] = account
            if len(self._accounts) > self.keep:
                self._accounts.popitem(last=False)
        try:
            yield account
        except BaseException as fault:
            account.failed(fault)
            raise

    def find(self, request_id: str) -> Account | None:
        """The account of that request, None when none is kept."""
        return self._accounts.get(request_id)


class ExplainService(explain_pb2_grpc.ExplainServiceServicer):
    """``headway.v1.ExplainService``."""

    def __init__(self, recent: Recent, *, clock: Clock) -> None:
        self._recent = recent
        self._clock = clock

    async def Explain(  # noqa: N802 - named by the proto
        self, request: explain_pb2.ExplainRequest, context: Any
    ) -> explain_pb2.ExplainResponse:
        account = self._recent.find(request.request_id)
        if account is None:
            raise HeadwayError(
                Reason.NOT_KEPT,
                f"no account of {request.request_id!r} is kept here: this process keeps its latest {self._recent.keep} "
                "requests until it stops. Check the id, ask the orchestrator that answered, or keep more with "
                "HEADWAY_EXPLAIN_KEEP",
                request_id=request.request_id,
                kept_requests=self._recent.keep,
            )
        return account.message(self._clock())
