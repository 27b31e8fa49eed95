"""Rankings of records for a query, and the choice from them.

Decides which rankings are joined on which rung and with what weight, and what of a query they look for. Knows neither
sections nor conditions: it ranks the rows that it is given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.catalogue.index import Index
from services.retrieval import lexical
from services.retrieval.diversity import diverse
from services.retrieval.fusion import Ranking, fused, in_order
from services.retrieval.lexical import LexicalSearch
from services.retrieval.policy import Rung
from services.retrieval.scopes import Scope
from services.retrieval.table import Mask, Rows, Table
from services.retrieval.vectors import VectorSearch
from services.retrieval.wanted import Wanted

_CANDIDATES = 4
"""How many candidates each ranking brings for one record that is chosen."""
_LEAST_CANDIDATES = 24
# A theme that the query names counts more than both searches together, nearness to a place that it names still more.
_THEME_WEIGHT = 3.0
_SUGGESTED_WEIGHT = 1.0
_PART_WEIGHT = 1.5
_PRICE_WEIGHT = 0.5
_NEAR_WEIGHT = 4.0
_NEAR = re.compile(
    r"근처|주변|인근|부근|가까|옆|\b(?:near|nearby|close to|next to|around|beside|walking distance)\b"
    r"|近く|近い|周辺|付近"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to search for. ``embedding`` has unit length, or is None where it is not needed or not to be had."""

    query: str
    wanted: Wanted
    sections: tuple[str, ...]
    per_section: int
    embedding: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A wish on its rung: what the rung leaves out is None. ``districts``: records in a part of a city that is named;
    ``anchor``: the record that the query names to be near it, or at all when it names no place; ``distances`` from it
    where near it is wanted."""

    wish: Wish
    scope: Scope
    districts: Mask
    scores: lexical.Scores | None
    embedding: NDArray[np.float32] | None
    anchor: int | None
    distances: NDArray[np.float64] | None


class Rankings:
    """Rankings over an index. Immutable once built."""

    def __init__(self, index: Index, table: Table, words: LexicalSearch) -> None:
        self._table = table
        self._vectors = index.vectors
        self._nearest = VectorSearch(index.vectors, index.graph)
        self._lexical = words

    def prepared(self, wish: Wish, rung: Rung, scope: Scope) -> Query:
        """What all sections share."""
        mask = scope.mask
        districts = ~self._table.everything()
        district_names = set()
        for place in wish.wanted.places:
            area = self._table.in_area(place.text, mask)
            # Words that name the whole city say nothing about a part of it.
            if area.any() and not area[mask].all():
                districts |= area
                district_names.add(place.text)
        spoken = [words for words in wish.wanted.spoken if words not in district_names]
        near = _NEAR.search(wish.query.casefold()) is not None
        anchor = self._table.named_in(wish.query, mask) if near or not scope.asked else None
        return Query(
            wish=wish,
            scope=scope,
            districts=districts,
            scores=None if rung is Rung.VECTOR else self._lexical.scores(_without(wish.query, spoken)),
            embedding=None if rung is Rung.LEXICAL else wish.embedding,
            anchor=anchor,
            distances=self._table.kilometres_from(anchor) if near and anchor is not None else None,
        )

    def picked(self, rows: Rows, query: Query, count: int) -> list[tuple[int, float]]:
        """At most ``count`` of the rows with their scores: fitting, and unlike each other."""
        most = max(_LEAST_CANDIDATES, _CANDIDATES * count)
        if query.distances is not None:
            rows = rows[rows != query.anchor]  # whoever looks near a place has it
        ranked = self.ranked(rows, query, most)
        if len(ranked) < count:
            known = {row for row, _ in ranked}
            ranked += [(row, 0.0) for row in rows.tolist() if row not in known][: count - len(ranked)]
        vectors = self._vectors[[row for row, _ in ranked]]
        order = diverse([score for _, score in ranked], vectors, count)
        return [ranked[position] for position in order]

    def ranked(self, rows: Rows, query: Query, most: int) -> list[tuple[int, float]]:
        """At most ``most`` of the rows that any ranking holds, with their scores, best first."""
        wanted = query.wish.wanted
        rankings = [
            self._by_theme(rows, wanted.themes, _THEME_WEIGHT),
            self._by_theme(rows, wanted.suggested, _SUGGESTED_WEIGHT),
            Ranking(groups=[rows[query.districts[rows]].tolist()], weight=_PART_WEIGHT),
        ]
        if query.embedding is not None:
            rankings.append(in_order(self._nearest.nearest(query.embedding, rows, most)))
        if query.scores is not None:
            rankings.append(in_order(lexical.best(query.scores, rows, most)))
        if query.distances is not None:
            rankings.append(in_order(_nearest_first(rows, query.distances), _NEAR_WEIGHT))
        if wanted.least_price is not None:
            dear = rows[self._table.price[rows] >= wanted.least_price]
            rankings.append(Ranking(groups=[dear.tolist()], weight=_PRICE_WEIGHT))
        return fused(rankings)[:most]

    def _by_theme(self, rows: Rows, themes: Sequence[str], weight: float) -> Ranking:
        """Records with the most of the wanted tags first; records with equally many tie, records with none are not in
        it."""
        matches = np.zeros(len(rows), dtype=np.int64)
        for theme in themes:
            matches += self._table.tagged(theme)[rows]
        levels = sorted(set(matches.tolist()) - {0}, reverse=True)
        return Ranking(groups=[rows[matches == level].tolist() for level in levels], weight=weight)


def _nearest_first(rows: Rows, distances: NDArray[np.float64]) -> list[int]:
    """The rows by distance, without those of which none is known."""
    known = rows[~np.isnan(distances[rows])]
    nearest: list[int] = known[np.argsort(distances[known], kind="stable")].tolist()
    return nearest


def _without(query: str, spoken: Sequence[str]) -> str:
    """The query without the words that conditions already cover: among records of one place its name is noise."""
    for words in sorted(spoken, key=len, reverse=True):
        query = query.replace(words, " ")
    return query
