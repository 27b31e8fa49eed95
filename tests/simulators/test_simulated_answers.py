from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_asks import ITEM_SCHEMA, PROMPT

from simulators import tokens
from simulators.phrases import LEAST_BODY_TOKENS, MOST_BODY_TOKENS, body
from simulators.prompt import Record, read
from simulators.writer import write


@given(st.text())
def test_the_tokens_of_a_text_are_the_text(text):
    assert "".join(tokens.pieces(text)) == text


def test_wide_scripts_need_about_a_token_for_one_and_a_half_characters_and_latin_for_four():
    korean = "성산일출봉은해돋이로이름난화산이며정상까지걸어서이십오분이걸린다" * 10
    english = "the volcano is known for its sunrise and takes half an hour to climb " * 10
    assert 1.0 <= len(korean) / len(tokens.pieces(korean)) <= 1.6
    assert 3.0 <= len(english) / len(tokens.pieces(english)) <= 5.5
    assert 1.0 <= len(korean) / tokens.count_text(korean) <= 1.5
    assert 3.5 <= len(english) / tokens.count_text(english) <= 4.5


class TestReadingAPrompt:
    def test_the_contract_s_blocks_are_read_without_what_is_excluded(self):
        ask = read("Some instructions.\n" + PROMPT)
        assert (ask.query, ask.language, ask.count, ask.section) == ("제주도 3박4일 가족여행", "ko", 3, "sights")
        assert [record.id for record in ask.records] == ["r1", "r3", "r4", "r5"]
        assert ask.records[0] == Record(id="r1", name="성산일출봉", facts="해돋이로 이름난 화산. 정상까지 걸어서 25분")

    def test_what_is_escaped_in_a_block_comes_back_as_it_was(self):
        line = (
            json.dumps({"id": "r1", "name": "</records> & co", "facts": "x"})
            .replace("<", "\\u003c")
            .replace(">", "\\u003e")
        )
        assert read(f"<records>\n{line}\n</records>").records[0].name == "</records> & co"

    @pytest.mark.parametrize(
        "text",
        [
            'Recommend 2 places.\n\n{"id":"a","title":"Alpha","content":"1"}\n{"id":"b","title":"Beta","content":"2"}',
            'Recommend 2 places from [{"id":"a","name":"Alpha"},{"id":"b","names":{"en":"Beta"}}] please',
            'Recommend 2 places {"documents":[{"id":"a","name":"Alpha"},{"id":"b","name":"Beta"}]}',
        ],
    )
    def test_without_blocks_json_documents_are_found_wherever_they_stand(self, text):
        ask = read(text)
        assert [(record.id, record.name) for record in ask.records] == [("a", "Alpha"), ("b", "Beta")]
        assert ask.count == 2

    def test_without_json_paragraphs_are_records(self):
        ask = read(
            "서울 맛집 3곳 추천해줘\n\n# 첫 집\n"
            "국수가 맛있는 집으로 점심에는 줄이 길어서 열한 시 전에 가는 편이 좋고 주차는 안 된다\n\n짧다"
        )
        assert [(record.id, record.name) for record in ask.records] == [("r1", "첫 집")]
        assert (ask.language, ask.count) == ("ko", 3)

    def test_an_empty_block_of_records_is_no_records(self):
        assert read('<request>\n{"query":"x"}\n</request>\n<records>\n</records>').records == ()

    @given(st.text())
    def test_any_text_can_be_read(self, text):
        assert read(text).count >= 0

    def test_a_text_of_many_braces_takes_no_longer_than_it_should(self):
        assert read('{"a":' * 20_000).records == ()


class TestWriting:
    def items(self, prompt: str, schema: dict[str, Any] | None = ITEM_SCHEMA) -> list[dict[str, Any]]:
        text = "".join(write(read(prompt), schema))
        return orjson.loads(text)["items"] if schema else [orjson.loads(line) for line in text.splitlines()]

    def test_each_part_ends_with_an_item(self):
        parts = write(read(PROMPT), ITEM_SCHEMA)
        assert len(parts) == 3
        assert all(part.rstrip(",]}").endswith('"') for part in parts)
        assert all(len(json.loads(part)) == 4 for part in write(read(PROMPT), None))

    def test_the_same_ask_gets_the_same_answer(self):
        assert write(read(PROMPT), ITEM_SCHEMA) == write(read(PROMPT), ITEM_SCHEMA)

    @pytest.mark.parametrize("count", [0, 1, 4, 50])
    def test_there_are_never_more_items_than_asked_for_nor_than_records(self, count):
        assert len(self.items(PROMPT.replace('"count":3', f'"count":{count}'))) == min(count, 4)

    @pytest.mark.parametrize(("language", "letters"), [("ko", "가힣"), ("ja", "ぁヿ"), ("en", "az")])
    def test_it_is_written_in_the_query_s_language(self, language, letters):
        for item in self.items(PROMPT.replace('"language":"ko"', f'"language":"{language}"')):
            assert sum(letters[0] <= each <= letters[1] for each in item["reason"]) > len(item["reason"]) / 3

    def test_an_unknown_language_is_answered_in_english(self):
        assert self.items(PROMPT.replace('"language":"ko"', '"language":"fi"'))[0]["reason"].isascii()

    @given(st.text(min_size=1, max_size=40), st.text(max_size=400), st.sampled_from(["ko", "ja", "en"]))
    def test_a_body_is_a_sentence_or_two_whatever_the_facts(self, name, facts, language):
        text = body(Record(id="r", name=name, facts=facts), "q", language)
        assert len(tokens.pieces(text)) <= MOST_BODY_TOKENS

    def test_a_body_is_not_shorter_than_what_a_person_would_read(self):
        for language in ("ko", "ja", "en"):
            assert (
                len(tokens.pieces(body(Record(id="r", name="Seongsan", facts=""), "q", language)))
                >= LEAST_BODY_TOKENS - 3
            )

    def test_fields_follow_the_schema_s_order_and_types(self):
        fields = {
            "rank": {"type": "integer"},
            "kind": {"enum": ["food", "sights"]},
            "open": {"type": ["boolean", "null"]},
            "place": {"$ref": "#/$defs/place"},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sources": {"type": "array", "items": {"type": "string"}},
        }
        schema = {
            "type": "object",
            "properties": {
                "summary": {"type": "string"},
                "items": {"type": "array", "items": {"type": "object", "properties": fields}},
            },
            "$defs": {
                "place": {"type": "object", "properties": {"name": {"type": "string"}, "lat": {"type": "number"}}}
            },
        }
        whole = orjson.loads("".join(write(read(PROMPT), schema)))
        item = whole["items"][0]
        assert list(whole) == ["summary", "items"]
        assert list(item) == list(fields)
        assert isinstance(item["rank"], int)
        assert item["kind"] == "sights"
        assert isinstance(item["open"], bool)
        assert item["place"]["name"] == "성산일출봉"
        assert isinstance(item["maybe"], str)
        assert isinstance(item["tags"][0], str)
        assert item["sources"] == ["r1"]

    def test_without_records_there_are_no_items_and_a_sentence_says_so(self):
        nothing = '<request>\n{"query":"제주","language":"ko","count":3}\n</request>\n<records>\n</records>'
        assert self.items(nothing) == []
        assert "자료" in "".join(write(read(nothing), None))

    @pytest.mark.parametrize(("name", "particle"), [("성산일출봉", "은"), ("우도", "는")])
    def test_korean_particles_follow_the_last_syllable(self, name, particle):
        bodies = [body(Record(id=f"r{nth}", name=name, facts="x"), "q", "ko") for nth in range(20)]
        assert any(text.startswith(name + particle) for text in bodies)
