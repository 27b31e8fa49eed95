"""The search of the catalogue: conditions, rankings, choice.

Decides which rankings are joined on which rung and with what weight, and that conditions are kept as long as they leave
enough. Runs on one thread without waiting for anything; knows neither messages nor time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.catalogue.index import Index
from headway.catalogue.record import Record
from headway.domain import Domain
from services.retrieval import lexical
from services.retrieval.diversity import diverse
from services.retrieval.filters import Scope, pools, scope_of
from services.retrieval.fusion import Ranking, fused, in_order
from services.retrieval.lexical import LexicalSearch
from services.retrieval.policy import Rung
from services.retrieval.table import Mask, Rows, Table
from services.retrieval.vectors import VectorSearch
from services.retrieval.wanted import Wanted

_CANDIDATES = 4
"""How many candidates each ranking brings for one record that is chosen."""
_LEAST_CANDIDATES = 24
# A theme that the query names counts as much as both searches together.
_THEME_WEIGHT = 2.0
_SUGGESTED_WEIGHT = 1.0
_PART_WEIGHT = 1.5
_PRICE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to search for. ``embedding`` has unit length, or is None where it is not needed or not to be had."""

    query: str
    wanted: Wanted
    sections: tuple[str, ...]
    per_section: int
    embedding: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record that was found, the section it is for, and how well it fits."""

    record: Record
    section: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found, by section in the order asked for. ``unknown`` are places that the catalogue does not have at
    all, ``short`` sections with less than a third of what was asked for, ``nearby`` the cities that stand in, by
    section."""

    hits: tuple[Hit, ...]
    given_up: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    short: Mapping[str, int]
    nearby: Mapping[str, tuple[str, ...]]


class CatalogueSearch:
    """Searches an index for a domain's sections. Immutable once built; may be used by several threads at once."""

    def __init__(self, index: Index, domain: Domain) -> None:
        self.size = len(index.records)
        self._kinds = {section.name: section.kinds for section in domain.sections}
        self._table = Table(index.records)
        self._vectors = index.vectors
        self._nearest = VectorSearch(index.vectors, index.graph)
        self._lexical = LexicalSearch(index.records, domain.tags)

    def search(self, wish: Wish, rung: Rung) -> Found:
        """The best records for every section asked for; a section without any has none."""
        query = self._prepared(wish, rung)
        hits: list[Hit] = []
        given_up: dict[str, None] = {}
        short: dict[str, int] = {}
        nearby: dict[str, tuple[str, ...]] = {}
        for section in wish.sections:
            chosen = self._section(section, query)
            hits += chosen.hits
            given_up |= dict.fromkeys(chosen.given_up)
            if chosen.nearby:
                nearby[section] = chosen.nearby
            if len(chosen.hits) * 3 < wish.per_section:
                short[section] = len(chosen.hits)
        unknown = query.scope.unknown
        return Found(hits=tuple(hits), given_up=tuple(given_up), unknown=unknown, short=short, nearby=nearby)

    def _prepared(self, wish: Wish, rung: Rung) -> _Query:
        """What all sections share."""
        scope = scope_of(self._table, wish.wanted)
        parts = ~self._table.everything()
        part_names = set()
        for place in wish.wanted.places:
            area = self._table.in_area(place.text, scope.mask)
            # Words that name the whole city say nothing about a part of it.
            if area.any() and not area[scope.mask].all():
                parts |= area
                part_names.add(place.text)
        spoken = [words for words in wish.wanted.spoken if words not in part_names]
        scores = None if rung is Rung.VECTOR else self._lexical.scores(_without(wish.query, spoken))
        embedding = None if rung is Rung.LEXICAL else wish.embedding
        return _Query(wish=wish, scope=scope, scores=scores, embedding=embedding, parts=parts)

    def _section(self, section: str, query: _Query) -> _Chosen:
        wish = query.wish
        hits: list[Hit] = []
        given_up: list[str] = []
        nearby: tuple[str, ...] = ()
        kinds = self._kinds.get(section, ())
        for pool in pools(self._table, query.scope, wish.wanted, kinds, wish.per_section):
            picked = self._picked(pool.rows, query, wish.per_section - len(hits))
            found = [Hit(record=self._table.records[row], section=section, score=score) for row, score in picked]
            hits += found
            if found and pool.given_up:
                given_up.append(pool.given_up)
            if pool.given_up == "destination":
                nearby = tuple(dict.fromkeys(hit.record.city for hit in found))
            if len(hits) >= wish.per_section:
                break
        return _Chosen(hits=tuple(hits), given_up=tuple(given_up), nearby=nearby)

    def _picked(self, rows: Rows, query: _Query, count: int) -> list[tuple[int, float]]:
        """At most ``count`` of the rows with their scores: fitting, and unlike each other."""
        most = max(_LEAST_CANDIDATES, _CANDIDATES * count)
        ranked = fused(self._rankings(rows, query, most))[:most]
        if len(ranked) < count:
            known = {row for row, _ in ranked}
            ranked += [(row, 0.0) for row in rows.tolist() if row not in known][: count - len(ranked)]
        vectors = self._vectors[[row for row, _ in ranked]]
        order = diverse([score for _, score in ranked], vectors, count)
        return [ranked[position] for position in order]

    def _rankings(self, rows: Rows, query: _Query, most: int) -> list[Ranking]:
        wanted = query.wish.wanted
        rankings = [
            self._by_theme(rows, wanted.themes, _THEME_WEIGHT),
            self._by_theme(rows, wanted.suggested, _SUGGESTED_WEIGHT),
            Ranking(groups=[rows[query.parts[rows]].tolist()], weight=_PART_WEIGHT),
        ]
        if query.embedding is not None:
            rankings.append(in_order(self._nearest.nearest(query.embedding, rows, most)))
        if query.scores is not None:
            rankings.append(in_order(lexical.best(query.scores, rows, most)))
        if wanted.least_price is not None:
            dear = rows[self._table.price[rows] >= wanted.least_price]
            rankings.append(Ranking(groups=[dear.tolist()], weight=_PRICE_WEIGHT))
        return rankings

    def _by_theme(self, rows: Rows, themes: Sequence[str], weight: float) -> Ranking:
        """Records with the most of the wanted tags first; records with equally many tie, records with none are not in
        it."""
        matches = np.zeros(len(rows), dtype=np.int64)
        for theme in themes:
            matches += self._table.tagged(theme)[rows]
        levels = sorted(set(matches.tolist()) - {0}, reverse=True)
        return Ranking(groups=[rows[matches == level].tolist() for level in levels], weight=weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    """A wish on its rung: what the rung leaves out is None. ``parts``: records in a part of a city that is named."""

    wish: Wish
    scope: Scope
    scores: lexical.Scores | None
    embedding: NDArray[np.float32] | None
    parts: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    hits: tuple[Hit, ...]
    given_up: tuple[str, ...]
    nearby: tuple[str, ...]


def _without(query: str, spoken: Sequence[str]) -> str:
    """The query without the words that conditions already cover: among records of one place its name is noise."""
    for words in sorted(spoken, key=len, reverse=True):
        query = query.replace(words, " ")
    return query
