"""How events of an answer look, to a person and to a program."""

from __future__ import annotations

import io
import json

import pytest
from google.protobuf.json_format import ParseDict
from rich.cells import cell_len

from headway.cli.render import JsonLines, Prose, enum_word
from headway.cli.terminal import console, harmless
from headway.v1.generator_pb2 import FinishReason
from headway.v1.recommendation_pb2 import RecommendResponse


def event(**parts: object) -> RecommendResponse:
    return ParseDict(parts, RecommendResponse())


PLAN = event(
    plan={
        "intent": "travel_recommendation",
        "confidence": 0.97,
        "language": "ko",
        "slots": [
            {"name": "destination", "value": "jeju", "text": "제주도"},
            {"name": "budget", "value": "500000", "unit": "KRW", "relation": "SLOT_RELATION_AT_MOST"},
            {"name": "exclusion", "value": "museum", "relation": "SLOT_RELATION_EXCLUDED"},
        ],
        "sections": ["lodging", "food", "sights"],
        "stages": [{"stage": "router", "rung": "embedding"}],
        "deadline": "5s",
        "deadline_source": "DEADLINE_SOURCE_CALLER",
        "max_items": 9,
    }
)
KOREAN = event(
    item={
        "item_id": "1",
        "section": "food",
        "rank": 1,
        "title": "올래국수",
        "body": "고기국수로 이름난 작은 가게입니다.",
        "reason": "아이와 함께 먹기 좋습니다.",
        "sources": ["jeju-olle-noodle"],
        "place": {"address": "제주시 연동"},
        "tier": "TIER_SMALL",
    }
)
ENGLISH = event(
    item={
        "item_id": "2",
        "section": "sights",
        "rank": 2,
        "title": "Ueno Zoo",
        "sources": ["tokyo-ueno-zoo"],
        "tier": "TIER_EXTRACTIVE",
    }
)
SUMMARY = event(
    summary={
        "finish_reason": "FINISH_REASON_DEADLINE",
        "items": 2,
        "ttft": "0.250s",
        "ttf_item": "0.412s",
        "total": "4.9s",
        "cache": "CACHE_RESULT_MISS",
        "usage": {"input_tokens": 1200, "output_tokens": 300, "cache_read_tokens": 900, "cost_usd": 0.0123},
        "ledger": [
            {"name": "router", "started_after": "0.001s", "spent": "0.004s", "reason": "loaded"},
            {
                "name": "generator.food",
                "started_after": "0.030s",
                "allowance": "4.5s",
                "spent": "4.4s",
                "rung": "small",
                "reason": "fits",
                "attempts": [
                    {"backend": "anthropic", "model": "haiku", "outcome": "ok", "spent": "4.3s", "ttft": "0.25s"}
                ],
            },
        ],
    }
)


def prose(*events: RecommendResponse, width: int = 120) -> list[str]:
    stream = io.StringIO()
    show = Prose(console(stream, width=width))
    for position, each in enumerate(events):
        show(each, 0.1 * (position + 1))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_the_plan_says_what_was_understood_and_how_much_time_there_is() -> None:
    lines = prose(PLAN)
    assert "travel_recommendation (0.97)  ko  up to 9 items  deadline 5000 ms (caller)" in lines[0]
    assert lines[1].strip() == "destination=jeju  budget<=500000 KRW  exclusion!=museum"


def test_an_item_shows_its_arrival_its_place_in_the_answer_and_what_it_rests_on() -> None:
    lines = prose(PLAN, KOREAN)[-4:]
    assert lines[0].split() == ["200", "ms", "food", "1", "올래국수", "small"]
    assert [line.strip() for line in lines[1:]] == [
        "고기국수로 이름난 작은 가게입니다.",
        "아이와 함께 먹기 좋습니다.",
        "제주시 연동  jeju-olle-noodle",
    ]


def test_titles_in_korean_and_english_begin_in_the_same_column() -> None:
    lines = prose(PLAN, KOREAN, ENGLISH)
    korean = next(line for line in lines if "올래국수" in line)
    english = next(line for line in lines if "Ueno" in line)
    assert cell_len(korean[: korean.index("올래국수")]) == cell_len(english[: english.index("Ueno")])


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal_in_columns(width: int) -> None:
    long = event(item={"item_id": "1", "section": "food", "rank": 1, "title": "가" * 60, "body": "맛집 " * 40})
    assert all(cell_len(line) <= width for line in prose(PLAN, long, SUMMARY, width=width))


def test_the_summary_holds_the_account_of_every_stage() -> None:
    text = "\n".join(prose(PLAN, SUMMARY))
    assert "2 items, deadline, first token 250 ms, first item 412 ms, whole 4900 ms, cache miss" in text
    assert "1200 input tokens (900 read" in text
    router, food = (next(line for line in text.splitlines() if name in line) for name in ("router ", "generator.food"))
    assert router.split() == ["router", "1", "ms", "none", "4", "ms", "loaded"]
    assert "4500 ms" in food
    assert "anthropic/haiku ok 4300 ms, first token 250 ms" in food


def test_a_notice_is_shown_where_it_happens() -> None:
    notice = event(notice={"stage": "retrieval.web", "reason": 1, "detail": "no time for the web"})
    (line,) = prose(notice)
    assert line.split(maxsplit=2) == ["100", "ms", "retrieval.web: no time for the web"]


def test_text_of_others_can_neither_style_nor_steer_the_terminal() -> None:
    hostile = event(
        item={
            "item_id": "1",
            "section": "food",
            "rank": 1,
            "title": "[red]a[/red]\x1b[31mb\u202ec",
            "body": "one\ntwo\x07\x9b2J",
        }
    )
    text = "\n".join(prose(PLAN, hostile))
    assert "[red]a[/red][31mbc" in text
    assert "one two2J" in text
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)


def test_harmless_keeps_what_scripts_need() -> None:
    assert harmless("제주 👨‍👩‍👧 café\u0301") == "제주 👨‍👩‍👧 café\u0301"


def test_json_is_one_object_a_line_with_the_field_names_of_the_protos() -> None:
    stream = io.StringIO()
    show = JsonLines(stream)
    for each in (PLAN, KOREAN, SUMMARY):
        show(each, 0.0)
    lines = stream.getvalue().splitlines()
    assert [ParseDict(json.loads(line), RecommendResponse()) for line in lines] == [PLAN, KOREAN, SUMMARY]
    assert "deadline_source" in json.loads(lines[0])["plan"]
    assert "올래국수" in lines[1]


def test_json_holds_no_raw_control_character() -> None:
    stream = io.StringIO()
    hostile = event(item={"title": "a\x1b[2J\x9b\nb\u2028"})
    JsonLines(stream)(hostile, 0.0)
    (line, end) = stream.getvalue().split("\n")
    assert end == ""
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in line)
    assert ParseDict(json.loads(line), RecommendResponse()) == hostile


def test_a_value_of_a_newer_peer_is_shown_by_its_number() -> None:
    assert enum_word(FinishReason, FinishReason.FINISH_REASON_MAX_ITEMS) == "max items"
    assert enum_word(FinishReason, 99) == "99"
