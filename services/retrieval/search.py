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
from services.retrieval.filters import Pool, Rows, Scope, pools, scope_of
from services.retrieval.fusion import Ranking, fused, in_order
from services.retrieval.lexical import LexicalSearch
from services.retrieval.policy import Rung
from services.retrieval.table import Table
from services.retrieval.vectors import VectorSearch
from services.retrieval.wanted import Wanted

_CANDIDATES = 4
"""How many candidates each ranking brings for one record that is chosen."""
_THEME_WEIGHT = 1.0
_AREA_WEIGHT = 1.5
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
        scope = scope_of(self._table, wish.wanted)
        scores = None if rung is Rung.VECTOR else self._lexical.scores(_unspoken(wish, self._table))
        hits: list[Hit] = []
        given_up: dict[str, None] = {}
        short: dict[str, int] = {}
        nearby: dict[str, tuple[str, ...]] = {}
        for section in wish.sections:
            chosen = self._section(section, wish, scope, rung, scores)
            hits += chosen.hits
            given_up |= dict.fromkeys(chosen.given_up)
            if chosen.nearby:
                nearby[section] = chosen.nearby
            if len(chosen.hits) * 3 < wish.per_section:
                short[section] = len(chosen.hits)
        return Found(hits=tuple(hits), given_up=tuple(given_up), unknown=scope.unknown, short=short, nearby=nearby)

    def _section(self, section: str, wish: Wish, scope: Scope, rung: Rung, scores: lexical.Scores | None) -> _Chosen:
        open_places = wish.per_section
        hits: list[Hit] = []
        given_up: list[str] = []
        nearby: tuple[str, ...] = ()
        for pool in pools(self._table, scope, wish.wanted, self._kinds.get(section, ()), wish.per_section):
            picked = self._picked(pool, wish, rung, scores, open_places)
            if picked and pool.given_up:
                given_up.append(pool.given_up)
            if picked and pool.given_up == "destination":
                nearby = tuple(dict.fromkeys(self._table.records[row].city for row, _ in picked))
            hits += [Hit(record=self._table.records[row], section=section, score=score) for row, score in picked]
            open_places = wish.per_section - len(hits)
            if open_places <= 0:
                break
        return _Chosen(hits=tuple(hits), given_up=tuple(given_up), nearby=nearby)

    def _picked(
        self, pool: Pool, wish: Wish, rung: Rung, scores: lexical.Scores | None, count: int
    ) -> list[tuple[int, float]]:
        most = max(24, _CANDIDATES * count)
        ranked = fused(self._rankings(pool.rows, wish, rung, scores, most))[:most]
        ranked += [(int(row), 0.0) for row in pool.rows[: max(0, count - len(ranked))] if row not in dict(ranked)]
        rows = [row for row, _ in ranked]
        order = diverse([score for _, score in ranked], self._vectors[rows], count)
        return [ranked[position] for position in order]

    def _rankings(self, rows: Rows, wish: Wish, rung: Rung, scores: lexical.Scores | None, most: int) -> list[Ranking]:
        rankings = [self._by_theme(rows, wish.wanted.themes), self._by_area(rows, wish.wanted)]
        if rung is not Rung.LEXICAL and wish.embedding is not None:
            rankings.append(in_order(self._nearest.nearest(wish.embedding, rows, most)))
        if scores is not None:
            rankings.append(in_order(lexical.best(scores, rows, most)))
        if wish.wanted.least_price is not None:
            dear = rows[self._table.price[rows] >= wish.wanted.least_price]
            rankings.append(Ranking(groups=[dear.tolist()], weight=_PRICE_WEIGHT))
        return rankings

    def _by_theme(self, rows: Rows, themes: Sequence[str]) -> Ranking:
        """Records with the most of the wanted tags first; records with equally many tie, records with none are not in
        it."""
        matches = np.zeros(len(rows), dtype=np.int64)
        for theme in themes:
            matches += self._table.tagged(theme)[rows]
        levels = sorted(set(matches.tolist()) - {0}, reverse=True)
        return Ranking(groups=[rows[matches == level].tolist() for level in levels], weight=_THEME_WEIGHT)

    def _by_area(self, rows: Rows, wanted: Wanted) -> Ranking:
        """Records in the part of a city that the query names."""
        inside = np.zeros(len(rows), dtype=np.bool_)
        for place in wanted.places:
            if place.text:
                area = self._table.in_area(place.text)[rows]
                # Where the words name the whole city, they say nothing about a part of it.
                inside |= area & (not area.all())
        return Ranking(groups=[rows[inside].tolist()], weight=_AREA_WEIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    hits: tuple[Hit, ...]
    given_up: tuple[str, ...]
    nearby: tuple[str, ...]


def _unspoken(wish: Wish, table: Table) -> str:
    """The query without the words that conditions already cover: in a search among records of one place its name is
    noise."""
    text = wish.query
    for words in sorted(wish.wanted.spoken, key=len, reverse=True):
        text = text.replace(words, " ")
    return text
