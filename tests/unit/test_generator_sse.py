"""Server-sent events are cut out of bytes, however these are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.generator.sse import EventStream, EventTooLarge

Events = list[tuple[bytes, bytes]]

CASES: dict[str, tuple[bytes, Events]] = {
    "named": (b"event: a\ndata: {}\n\n", [(b"a", b"{}")]),
    "without a name": (b"data: 1\n\ndata: 2\n\n", [(b"", b"1"), (b"", b"2")]),
    "without a space": (b"event:a\ndata:x\n\n", [(b"a", b"x")]),
    "only one space goes": (b"data:  x\n\n", [(b"", b" x")]),
    "carriage returns": (b"event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", [(b"a", b"x"), (b"", b"y")]),
    "comments": (b": keep-alive\n\n: x\ndata: y\n: z\n\n", [(b"", b"y")]),
    "several lines of data": (b"data: a\ndata: b\ndata\n\n", [(b"", b"a\nb\n")]),
    "other fields": (b"id: 7\nretry: 10\nfuture: x\ndata: y\n\n", [(b"", b"y")]),
    "a name and no data": (b"event: ping\n\ndata: x\n\n", [(b"", b"x")]),
    "empty data": (b"data:\n\n", [(b"", b"")]),
    "an end without a blank line": (b"data: x\n\ndata: lost\n", [(b"", b"x")]),
    "text of several bytes": ("data: 성산 😀\n\n".encode(), [(b"", "성산 😀".encode())]),
    "a colon in the data": (b"data: data: x\n\n", [(b"", b"data: x")]),
}


@pytest.mark.parametrize("name", CASES)
def test_events_are_found(name: str) -> None:
    raw, events = CASES[name]
    assert EventStream().feed(raw) == events


@given(name=st.sampled_from(sorted(CASES)), data=st.data())
def test_how_the_bytes_are_cut_changes_nothing(name: str, data: st.DataObject) -> None:
    raw, events = CASES[name]
    borders = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=20)))
    stream = EventStream()
    found: Events = []
    for start, end in zip([0, *borders], [*borders, len(raw)], strict=True):
        found += stream.feed(raw[start:end])
    assert found == events


@given(st.lists(st.binary(max_size=30).filter(lambda each: not set(each) & {10, 13}), max_size=10))
def test_whatever_data_is_sent_comes_out(data: list[bytes]) -> None:
    raw = b"".join(b"data: " + each + b"\n\n" for each in data)
    assert EventStream().feed(raw) == [(b"", each) for each in data]


@pytest.mark.parametrize("endless", [b"x" * 50, b"data: x\n", b": comment\n"])
def test_an_event_without_end_is_refused(endless: bytes) -> None:
    stream = EventStream(max_event_bytes=1000)

    def feed_for_ever() -> None:
        for _ in range(1000):
            stream.feed(endless)

    with pytest.raises(EventTooLarge):
        feed_for_ever()


def test_many_small_events_are_not_taken_for_a_large_one() -> None:
    stream = EventStream(max_event_bytes=100)
    for _ in range(50):
        assert stream.feed(b"data: 0123456789\n\n" * 30) == [(b"", b"0123456789")] * 30
        assert stream.feed(b": ping\n\n") == []
