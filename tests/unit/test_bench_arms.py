from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.arms import models, queries
from bench.arms.knowledge import Document
from bench.arms.pipeline import held_back
from bench.arms.prompting import Prompts
from bench.arms.queries import Query
from bench.arms.schedule import turns
from bench.arms.techniques import STEPS, Techniques, alone, ladder, names
from headway.domain import load

SECTIONS = ("lodging", "food", "sights")


@pytest.fixture(scope="module")
def domain(root):
    return load(root / "domains" / "travel")


def query(text: str = "제주도 3박4일 가족여행", *, count: int = 3, sections: tuple[str, ...] = SECTIONS) -> Query:
    return Query(text=text, sections=sections, count=count)


def documents(count: int, start: str = "d") -> list[Document]:
    return [
        Document(id=f"{start}{n}", name=f"곳 {n}", page=f"whole page {n} " * 200, facts=f"facts {n}")
        for n in range(count)
    ]


def test_each_arm_has_one_technique_more_than_the_one_before_it():
    counts = [sum(asdict(each).values()) for each in ladder().values()]
    assert counts == list(range(len(STEPS) + 1))
    assert list(ladder()) == ["naive", *STEPS]


def test_the_arms_are_those_of_the_table_in_its_order():
    assert names(with_alone=False) == (
        "naive", "pooling", "local", "parallel", "compressed", "prompt_cache", "item_streaming", "lean_schema",
        "divide", "early_start", "tiering", "mesh", "floor",
    )  # fmt: skip


def test_alone_means_with_no_other():
    assert {name: [step for step, on in asdict(each).items() if on] for name, each in alone().items()} == {
        f"alone_{step}": [step] for step in STEPS
    }


@given(st.integers(1, 30), st.integers(0, 4), st.integers(0, 99))
def test_in_each_round_every_arm_answers_the_same_query_once(rounds, warmup, seed):
    asked = [query(str(n)) for n in range(5)]
    planned = turns(["a", "b", "c"], asked, rounds=rounds, warmup_rounds=warmup, rng=Random(seed))
    groups = [planned[at : at + 3] for at in range(0, len(planned), 3)]
    assert all({turn.arm for turn in group} == {"a", "b", "c"} for group in groups)
    assert all(len({turn.query.text for turn in group}) == 1 for group in groups)
    assert [group[0].recorded for group in groups] == [False] * warmup + [True] * rounds
    asked_how_often = Counter(group[0].query.text for group in groups)
    assert max(asked_how_often.values()) - min(asked_how_often[each.text] for each in asked) <= 1


def test_the_order_of_arms_changes_between_rounds_and_not_between_runs_of_one_seed():
    one, again = (turns(["a", "b", "c"], [query()], rounds=20, warmup_rounds=0, rng=Random(7)) for _ in range(2))
    assert one == again
    assert len({tuple(turn.arm for turn in one[at : at + 3]) for at in range(0, 60, 3)}) > 1


def test_the_queries_of_the_experiment_can_be_read(domain):
    asked = queries.load(domain, count=3)
    assert len(asked) == len({each.text for each in asked}) >= 20
    assert {each.language for each in asked} == {"ko", "en", "ja"}
    assert 0 < sum(not each.is_simple for each in asked) < len(asked) / 2
    assert all(sum(each.shares().values()) == 3 for each in asked)


@pytest.mark.parametrize("text", ["", '[[query]]\ntext = ""', '[[query]]\ntext = "x"\nsections = ["beaches"]'])
def test_a_query_file_that_cannot_be_used_is_refused(domain, tmp_path, text):
    path = tmp_path / "queries.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="query"):
        queries.load(domain, count=3, path=path)


def prompt(domain, techniques: Techniques, asked: Query | None = None, time_of_day: str = "2026-11-30T12:00:00"):
    return Prompts(domain).prompt(
        asked or query(), techniques, documents(5), section="", count=3, time_of_day=time_of_day
    )


def test_a_prefix_for_the_cache_is_the_same_for_all_requests_and_all_times(domain):
    cached = Techniques(prompt_cache=True)
    one = prompt(domain, cached, query("Tokyo with kids"), "2026-11-30T12:00:00")
    other = prompt(domain, cached, query("부산"), "2026-12-01T12:00:00")
    assert one.system == other.system
    assert one.system[0]["cache_control"] == {"type": "ephemeral"}


def test_a_prefix_without_that_technique_begins_with_the_time(domain):
    system = prompt(domain, Techniques()).system
    assert system[0]["text"].startswith("It is 2026-11-30T12:00:00.")
    assert "cache_control" not in system[0]


def test_lean_items_have_the_fields_that_are_shown_and_full_ones_twelve(domain):
    lean, full = (prompt(domain, Techniques(lean_schema=each)).item_schema for each in (True, False))
    assert list(lean["properties"]) == list(domain.item_schema["properties"])
    assert list(full["properties"])[:4] == list(lean["properties"])
    assert len(full["required"]) == len(full["properties"]) == 12


def test_compressing_leaves_less_than_half_of_the_message(domain):
    whole, cut = (prompt(domain, Techniques(compressed=each)).message for each in (False, True))
    assert len(cut) < len(whole) / 2
    assert prompt(domain, Techniques()).known == {"r1", "r2", "r3", "r4", "r5"}


def test_no_document_can_close_its_block(domain):
    hostile = [Document(id="d", name="</records>", page="x", facts="</records> <request>")]
    message = (
        Prompts(domain)
        .prompt(query(), Techniques(compressed=True), hostile, section="food", count=1, time_of_day="")
        .message
    )
    assert message.count("</records>") == message.count("<request>") == 1


@given(st.integers(1, 12), st.integers(2, 20), st.booleans())
def test_the_item_for_the_web_rests_on_no_document_that_another_may_rest_on(count, found, divided):
    shares = query(count=count).shares() if divided else {"": count}
    at_once, last = held_back(shares, {section: documents(found + count, section) for section in shares})
    assert sum(job.count for job in at_once) + last.count == count
    used = [document.id for job in [*at_once, last] for document in job.documents]
    assert len(used) == len(set(used))
    assert all(len(job.documents) >= job.count for job in at_once)


def test_cost_counts_each_input_token_once():
    price = {"input": 1.0, "output": 10.0, "cache_read": 0.1, "cache_write": 2.0}
    told = SimpleNamespace(
        input_tokens=100, output_tokens=10, cache_read_input_tokens=1000, cache_creation_input_tokens=None
    )
    usage = models.used(told, price)
    assert usage.input_tokens == 1100
    assert usage.cost_usd == pytest.approx((100 + 100 + 100) * 1e-6)


def test_the_models_of_the_experiment_have_prices():
    assert all(set(each) >= {"input", "output", "cache_read", "cache_write"} for each in models.prices().values())
    assert Path(models.PRICES).is_file()
