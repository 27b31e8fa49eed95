"""One recent request, as the orchestrator that answered it remembers it.

Decides how an account looks. Knows neither the query nor the items, because nobody keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass

import grpc
from google.protobuf.json_format import MessageToJson
from rich.console import Console
from rich.text import Text

from headway.channel import resolvable
from headway.cli import trace
from headway.cli.ask import connects
from headway.cli.endpoints import channel_options
from headway.cli.failures import FAILED, USAGE, Problem, unreachable
from headway.cli.render import said, taken_for, tokens_and_cost, totals
from headway.cli.terminal import harmless
from headway.messages import seconds
from headway.v1 import explain_pb2, explain_pb2_grpc

TIMEOUT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The account, or why there is none."""

    account: explain_pb2.ExplainResponse | None = None
    problem: Problem | None = None


async def explain(request_id: str, target: str) -> Explained:
    """Asks the orchestrator at ``target`` for the account of a request."""
    async with grpc.aio.insecure_channel(resolvable(target), options=channel_options(target)) as channel:
        if not await connects(channel):
            return Explained(problem=unreachable(target))
        stub = explain_pb2_grpc.ExplainServiceStub(channel)
        try:
            request = explain_pb2.ExplainRequest(request_id=request_id)
            return Explained(account=await stub.Explain(request, timeout=TIMEOUT))
        except grpc.aio.AioRpcError as error:
            return Explained(problem=_problem(error, target))


def _problem(error: grpc.aio.AioRpcError, target: str) -> Problem:
    code, told = error.code(), harmless(error.details() or "")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        message = (
            f"The orchestrator at {target} keeps no accounts: it was started with HEADWAY_EXPLAIN_KEEP=0, or is older "
            "than they are."
        )
        return Problem(message=message, code=FAILED)
    if code is grpc.StatusCode.NOT_FOUND:
        return Problem(message=f"{told[:1].upper()}{told[1:]}.", code=FAILED)
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return Problem(message="An id of a request has 1 to 64 characters, as plan and log show it.", code=USAGE)
    return Problem(message=f"The call failed ({code.name}): {told}.", code=FAILED)


def as_json(account: explain_pb2.ExplainResponse) -> str:
    """The account on one line, with the field names of the protos."""
    text: str = MessageToJson(account, preserving_proto_field_name=True, indent=None, ensure_ascii=True)
    return text


def show(account: explain_pb2.ExplainResponse, request_id: str, to: Console) -> None:
    """Prints an account: what was planned, what was given up, how it ended, and where the time went."""
    to.print(Text.assemble((f"request {harmless(request_id)}", "bold"), f", {_ago(seconds(account.age))}"))
    if account.HasField("plan"):
        to.print(taken_for(account.plan))
        if account.plan.slots:
            to.print(said(account.plan))
    for notice in account.notices:
        to.print(Text(f"{harmless(notice.stage)}: {harmless(notice.detail)}", style="yellow"))
    if account.HasField("failure"):
        to.print(Text(_failed(account.failure), style="red"))
    elif not account.HasField("summary"):
        to.print(Text("still being answered", style="yellow"))
    else:
        summary = account.summary
        to.print(Text(totals(summary), style="bold"))
        if summary.usage.input_tokens + summary.usage.output_tokens:
            to.print(Text(tokens_and_cost(summary.usage), style="dim"))
        trace.show(summary, to)


def _failed(failure: explain_pb2.Failure) -> str:
    if failure.code == "CANCELLED" and not failure.reason:
        return "the caller left before the end"
    return f"failed with {harmless(failure.code)} ({harmless(failure.reason)}): {harmless(failure.message)}"


def _ago(span: float) -> str:
    if span < 60:
        return f"{span:.1f} s ago"
    minutes = round(span / 60)
    return f"{minutes} min ago" if minutes < 120 else f"{span / 3600:.1f} h ago"
