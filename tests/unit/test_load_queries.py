"""Which queries a load run asks."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from headway.load_calls import QueriesError, built_in, read_queries, shuffled


def test_the_built_in_mix_is_of_two_languages_and_has_no_query_twice() -> None:
    queries = [request.query for request in built_in()]
    korean = [query for query in queries if any("가" <= character <= "힣" for character in query)]
    assert len(set(queries)) == len(queries) == 24
    assert len(korean) == 12


def test_every_query_is_asked_equally_often_and_in_an_order_that_the_seed_repeats() -> None:
    requests = built_in()
    asked = [request.query for request in islice(shuffled(requests, Random(5)), 3 * 24)]
    assert set(Counter(asked).values()) == {3}
    assert asked == [request.query for request in islice(shuffled(requests, Random(5)), 3 * 24)]
    assert asked[:24] != asked[24:48]


def test_a_file_holds_queries_and_whole_requests(tmp_path: Path) -> None:
    file = tmp_path / "queries.txt"
    file.write_text(
        '\ufeff# comment\n\n  부산 1박2일 \n{"query": "Kyoto", "maxItems": 3, "sections": ["food"]}\n', encoding="utf-8"
    )
    plain, whole = read_queries(file)
    assert plain.query == "부산 1박2일"
    assert (whole.query, whole.max_items, list(whole.sections)) == ("Kyoto", 3, ["food"])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no query"),
        (b"# nothing\n", "holds no query"),
        (b'ok\n{"qery": "x"}\n', "line 2 is no RecommendRequest"),
        (b'{"query": \n', "line 1 is no RecommendRequest"),
        (b"\xff\xfe\x00", "is not UTF-8"),
    ],
)
def test_a_file_that_holds_none_is_refused_by_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "queries.txt"
    file.write_bytes(content)
    with pytest.raises(QueriesError, match=complaint):
        read_queries(file)
