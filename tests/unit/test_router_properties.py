from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from services.router.found import MAX_CHARS, clean
from services.router.slots import MAX_SLOTS
from tests.unit.router_parts import finder

WORDS = (
    "제주 부산 말고 빼고 3박4일 1박 10만원 이하 ~ $ 100 under without no and Tokyo kids 아이 둘 "
    "東京 2泊 以外 월 일 5 12/25 가족 nice ,"
)
PIECES = st.sampled_from([*WORDS.split(), " ", "\u200b", "\x00", "İ", "ﷺ", "🎉"])
TEXTS = st.one_of(st.text(min_size=1, max_size=MAX_CHARS), st.lists(PIECES, min_size=1, max_size=200).map("".join))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
@example("가" * MAX_CHARS)
@example("부산이랑 " * 400)
@example("not the " * 250)
@example("$1-" * 660)
@example("\u200b" * 50)
def test_any_text_gives_bounded_slots_that_cite_it(query: str) -> None:
    text = clean(query)
    found = finder().find(text)
    assert len(text.shown) == len(text.lower) <= MAX_CHARS
    assert len(found.slots) <= MAX_SLOTS
    assert len(found.bare) <= MAX_CHARS
    for slot in found.slots:
        assert slot.name
        assert slot.value
        assert slot.text in text.shown


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_the_same_text_always_gives_the_same_slots(query: str) -> None:
    assert finder().find(clean(query)) == finder().find(clean(query))


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_cleaning_twice_changes_nothing(query: str) -> None:
    once = clean(query)
    assert clean(once.shown) == once
