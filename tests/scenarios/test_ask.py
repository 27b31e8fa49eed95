"""Questions to a whole mesh of real processes, over its public API, as a user types them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.command_runs import LONGEST, PARTS, ROOT, Commands

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands beside a mesh that runs with the default scenario."""
    found = Commands(tmp_path_factory.mktemp("mesh") / "var")
    with found.running_mesh():
        yield found


def hangul(text: str) -> bool:
    return any("가" <= character <= "힣" for character in text)


@pytest.mark.parametrize("query", ["제주도 3박4일 가족여행", "3-day Tokyo trip with kids"])
def test_an_answer_begins_with_the_plan_ends_with_the_summary_and_has_items_between(
    commands: Commands, query: str
) -> None:
    ran = commands.ask(query, "--deadline", "5s")
    kinds = [next(iter(event)) for event in ran.events()]
    assert ran.code == 0, ran.err
    assert (kinds[0], kinds[-1]) == ("plan", "summary")
    assert set(kinds[1:-1]) <= {"item", "notice"}
    items = ran.items()
    assert {item["section"] for item in items} == {"lodging", "food", "sights"}
    assert len({item["item_id"] for item in items}) == len(items)
    assert all(item["title"] and item["sources"] for item in items)
    assert hangul(items[0]["body"]) == hangul(query)
    summary = ran.events()[-1]["summary"]
    assert summary["items"] == len(items)
    assert {"router", "retrieval.internal"} <= {stage["name"] for stage in summary["ledger"]}


@pytest.mark.parametrize("deadline", ["150ms", "800ms", "2s"])
def test_a_short_deadline_gives_items_all_the_same(commands: Commands, deadline: str) -> None:
    ran = commands.ask("부산 2박3일 커플 여행", "--deadline", deadline)
    assert ran.code == 0, ran.err
    assert ran.items()


def test_the_wishes_of_the_caller_are_kept(commands: Commands) -> None:
    ran = commands.ask(
        "3-day Tokyo trip with kids",
        *("--section", "food", "--max-items", "2", "--max-tier", "extractive", "--lang", "ko"),
    )
    items = ran.items()
    assert len(items) == 2
    assert {(item["section"], item["tier"]) for item in items} == {("food", "TIER_EXTRACTIVE")}
    assert ran.events()[0]["plan"]["language"] == "ko"


@pytest.mark.parametrize("query", ["오늘 삼성전자 주가 알려줘", "What is the capital of France?"])
def test_what_is_no_recommendation_is_told_so_without_items(commands: Commands, query: str) -> None:
    ran = commands.ask(query)
    assert ran.code == 0, ran.err
    assert ran.items() == []
    notices = [event["notice"] for event in ran.events() if "notice" in event]
    assert [notice["reason"] for notice in notices] == ["DEGRADATION_REASON_NOT_A_RECOMMENDATION"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("",), "query"),
        (("   ",), "query must hold more than white space"),
        (("가" * 10_000,), "query"),
        (("jeju\x07",), "query must not hold control characters"),
        (("jeju", "--lang", "not a language"), "--lang must be a BCP 47"),
        (("jeju", "--section", "casinos"), "casinos"),
        (("jeju", "--max-items", "51"), "--max-items must be"),
    ],
)
def test_a_request_that_cannot_be_served_names_what_is_wrong(
    commands: Commands, arguments: tuple[str, ...], said: str
) -> None:
    ran = commands.ask(*arguments)
    assert ran.code == 1
    assert said in ran.err
    assert ran.out == ""


def test_a_deadline_of_a_millisecond_ends_clearly_and_the_next_request_works(commands: Commands) -> None:
    ran = commands.ask("제주도 3박4일 가족여행", "--deadline", "1ms")
    assert ran.code in (0, 124)
    assert bool(ran.items()) is (ran.code == 0)
    assert commands.ask("제주도 3박4일 가족여행").items()


def test_a_reader_who_leaves_after_the_first_line_gets_it_and_the_next_request_works(commands: Commands) -> None:
    command = f"'{sys.executable}' -m headway.cli ask '제주도 3박4일 가족여행' --json | head -n 1"
    ran = subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env=commands.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    assert ran.stdout.startswith('{"plan"')
    assert ran.stderr == ""
    assert commands.ask("3-day Tokyo trip with kids").items()


def test_prose_shows_the_ledger_with_every_stage(commands: Commands) -> None:
    ran = commands.run("ask", "제주도 3박4일 가족여행")
    assert ran.code == 0, ran.err
    assert all(stage in ran.out for stage in ("router", "retrieval.internal", "generator.food"))


def test_the_doctor_finds_a_running_mesh_healthy(commands: Commands) -> None:
    ran = commands.run("doctor")
    assert ran.code == 0, ran.out
    mesh = commands.mesh()
    assert all(f"ready at {mesh['addresses'][part]}" in ran.out for part in PARTS)
    assert Path(commands.state / "catalogue.index").exists()
