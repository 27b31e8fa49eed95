"""``headway explain`` against a real orchestrator between scripted neighbours."""

from __future__ import annotations

import io
import json

import pytest

from headway.cli.explain import as_json, explain, show
from headway.cli.failures import FAILED, UNREACHABLE, USAGE
from headway.cli.terminal import console
from headway.v1 import explain_pb2
from tests.wire.scripted import Script, ask, orchestrator
from tests.wire.test_explain import refuses


def shown(account: explain_pb2.ExplainResponse, columns: int = 80) -> str:
    to = io.StringIO()
    show(account, "abc", console(to, width=columns))
    return to.getvalue()


async def test_an_account_is_shown_with_plan_notices_ending_and_bars() -> None:
    async with orchestrator(Script(route=refuses), keep=3) as target:
        request_id = (await ask(target))[0].plan.request_id
        found = await explain(request_id, target)
    assert found.account is not None
    text = shown(found.account)
    assert "request abc" in text
    assert "travel_recommendation" in text
    assert "router: router failed (UNAVAILABLE)" in text
    assert "9 items" in text
    assert "━" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert json.loads(as_json(found.account))["plan"]["request_id"] == request_id


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (explain_pb2.ExplainResponse(), "still being answered"),
        (explain_pb2.ExplainResponse(failure=explain_pb2.Failure(code="CANCELLED")), "the caller left before the end"),
        (
            explain_pb2.ExplainResponse(
                failure=explain_pb2.Failure(code="NOT_FOUND", reason="NOTHING_FOUND", message="no record\x1b[2J fits")
            ),
            "failed with NOT_FOUND (NOTHING_FOUND): no record[2J fits",
        ),
    ],
    ids=["under way", "left", "failed"],
)
def test_what_has_no_summary_says_why(account: explain_pb2.ExplainResponse, said: str) -> None:
    assert said in shown(account)


async def test_what_is_not_kept_says_what_to_do() -> None:
    async with orchestrator(Script(), keep=3) as target:
        unknown = await explain("nope", target)
        wrong = await explain("x" * 100, target)
    assert unknown.problem is not None
    assert unknown.problem.code == FAILED
    assert "HEADWAY_EXPLAIN_KEEP" in unknown.problem.message
    assert wrong.problem is not None
    assert wrong.problem.code == USAGE


async def test_a_mesh_that_keeps_nothing_says_so() -> None:
    async with orchestrator(Script(), keep=0) as target:
        found = await explain("nope", target)
    assert found.problem is not None
    assert "HEADWAY_EXPLAIN_KEEP=0" in found.problem.message


async def test_where_nobody_answers_that_is_said() -> None:
    found = await explain("x", "127.0.0.1:1")
    assert found.problem is not None
    assert found.problem.code == UNREACHABLE
