"""Records by the words of a query, on bm25s, for languages with and without spaces between words.

Decides what counts as a term: Latin words as they are, and of Korean, Japanese and Chinese text every two characters
that stand beside each other, since endings are glued to words there. Names count three times as much as what is said
about a place. Scores are BM25 (Robertson and Zaragoza 2009) in the variant of Lucene.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import bm25s
import numpy as np

from headway.catalogue.record import Record
from headway.domain import Tag
from services.retrieval.table import Rows

_RUN = re.compile(r"[가-힣]+|[぀-ヿ一-鿿々]+|[^\W_가-힣぀-ヿ一-鿿々]+")
_SPACELESS = re.compile(r"[가-힣぀-ヿ一-鿿々]")
Scores = np.ndarray[tuple[int], np.dtype[np.float32]]
"""One score a record, in the order of the records."""
_NAME_WEIGHT = 3
_LONGEST = 400
"""Terms of a query that are looked at; a longer one says nothing more."""


class LexicalSearch:
    """An index over the words of ``records``; ``tags`` bring the labels of their tags in all languages."""

    def __init__(self, records: Sequence[Record], tags: Mapping[str, Tag]) -> None:
        self._bm25 = bm25s.BM25(k1=1.2, b=0.6, method="lucene", backend="numpy")
        self._empty = not records
        if records:
            labels = {name: terms(" ".join(tag.labels.values())) for name, tag in tags.items()}
            self._bm25.index([_document(record, labels) for record in records], show_progress=False)

    def scores(self, query: str) -> Scores | None:
        """A score for every record, or None when the query has no term that any record has."""
        if self._empty:
            return None
        known = self._bm25.get_tokens_ids(terms(query)[:_LONGEST])
        if not known:
            return None
        scores: Scores = self._bm25.get_scores_from_ids(known)
        return scores


def best(scores: Scores | None, among: Rows, count: int) -> list[int]:
    """At most ``count`` of the rows ``among`` that have a score above zero, highest first."""
    if scores is None or not len(among):
        return []
    chosen = scores[among]
    order = np.argsort(-chosen, kind="stable")[:count]
    return [int(among[position]) for position in order if chosen[position] > 0]


def terms(text: str) -> list[str]:
    """The terms of a text, in order, with repetitions."""
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _SPACELESS.match(run) and len(run) > 1:
            found += [run[start : start + 2] for start in range(len(run) - 1)]
        else:
            found.append(run)
    return found


def _document(record: Record, labels: Mapping[str, Sequence[str]]) -> list[str]:
    names = terms(" ".join(dict.fromkeys(record.names.values()))) * _NAME_WEIGHT
    about: Iterable[str] = (*record.description.values(), *record.area.values(), record.city.replace("-", " "))
    tags = [term for tag in record.tags for term in labels.get(tag) or terms(tag.replace("-", " "))]
    return [*names, *terms(" ".join(about)), *tags]
