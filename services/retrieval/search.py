"""The search of the catalogue: where, under which conditions, and what is taken.

Decides that every place asked for is represented, that a trip without a place is kept to one city, and that conditions
are kept as long as they leave enough. Runs on one thread without waiting for anything; knows neither messages nor time.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from headway.catalogue.index import Index
from headway.catalogue.record import Record
from headway.domain import Domain
from services.retrieval.filters import Pool, pools
from services.retrieval.lexical import LexicalSearch
from services.retrieval.policy import Rung
from services.retrieval.rankings import Query, Rankings, Wish
from services.retrieval.regions import Regions
from services.retrieval.scopes import Part, Scope, in_city, scope_of
from services.retrieval.table import Table

__all__ = ["CatalogueSearch", "Found", "Hit", "Relaxed", "Wish"]
_VOTERS = 24
"""Records of a section that vote for a city."""
_MATTER = 0.75
"""Share of the records known for a theme that some sections must hold for it to be a matter of theirs."""
_MANY_NIGHTS = 5
"""With so many nights a trip through a country may see several cities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record that was found, the section it is for, and how well it fits."""

    record: Record
    section: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxed:
    """A condition that was given up in a section, and how many records had been found before."""

    condition: str
    fitting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found, by section in the order asked for.

    ``unknown`` are places that the catalogue does not have at all, ``short`` sections with less than a third of what
    was asked for, ``nearby`` the cities that stand in, by section, ``relaxed`` the conditions given up, by section,
    ``unmet`` themes that nothing meets; ``assumed`` is the city that was chosen because the query names none, or only a
    country or region.
    """

    hits: tuple[Hit, ...]
    unknown: tuple[str, ...] = ()
    short: Mapping[str, int]
    nearby: Mapping[str, tuple[str, ...]]
    relaxed: Mapping[str, tuple[Relaxed, ...]] = field(default_factory=lambda: MappingProxyType({}))
    assumed: str = ""
    unmet: tuple[str, ...] = ()

    @property
    def given_up(self) -> tuple[str, ...]:
        """All conditions given up, each once."""
        return tuple(dict.fromkeys(each.condition for listed in self.relaxed.values() for each in listed))


class CatalogueSearch:
    """Searches an index for a domain's sections. Immutable once built; may be used by several threads at once."""

    def __init__(self, index: Index, domain: Domain, regions: Regions | None = None) -> None:
        self.size = len(index.records)
        self._kinds = {section.name: section.kinds for section in domain.sections}
        self._table = Table(index.records)
        self._regions = regions or Regions()
        self._rankings = Rankings(index, self._table, LexicalSearch(index.records, domain.tags))

    def search(self, wish: Wish, rung: Rung) -> Found:
        """The best records for every section asked for; a section without any has none."""
        scope = scope_of(self._table, wish.wanted, self._regions)
        query = self._rankings.prepared(wish, rung, scope)
        assumed = ""
        if self._regions.trips and _is_open(scope, wish):
            city, assumed = self._city(query)
            scope = in_city(self._table, scope, city)
            query = self._rankings.prepared(wish, rung, scope)
        sections = {section: self._section(section, query) for section in wish.sections}
        return Found(
            hits=tuple(hit for chosen in sections.values() for hit in chosen.hits),
            unknown=scope.unknown,
            short={name: len(each.hits) for name, each in sections.items() if len(each.hits) < _third(wish)},
            nearby={name: each.nearby for name, each in sections.items() if each.nearby},
            relaxed={name: each.relaxed for name, each in sections.items() if each.relaxed},
            assumed=assumed,
            unmet=self._unmet(query, [hit.record for chosen in sections.values() for hit in chosen.hits]),
        )

    def _unmet(self, query: Query, records: Sequence[Record]) -> tuple[str, ...]:
        """One theme of each topic that nothing found meets, of those that are a matter of the sections asked for: a
        hotel need not be known for history."""
        kinds = self._table.of_kinds({kind for section in query.wish.sections for kind in self._kinds.get(section, ())})
        tags = {tag for record in records for tag in record.tags}
        unmet = []
        for topic in query.wish.wanted.topics if records else ():
            meeting = np.logical_or.reduce([self._table.tagged(theme) for theme in topic])
            if tags.isdisjoint(topic) and (meeting & kinds).sum() >= _MATTER * meeting.sum():
                unmet.append(topic[0])
        return tuple(unmet)

    def _city(self, query: Query) -> tuple[str, str]:
        """The city to keep to when the query leaves it open, and the same when it was assumed rather than concluded.

        That of a record which the query names; else the one that the rankings of all sections vote for, each section
        with the same weight, a record with one over its rank; equal votes fall to the city with more fitting records.
        """
        if query.anchor is not None:
            return self._table.city_of(query.anchor), ""
        votes: defaultdict[str, float] = defaultdict(float)
        fitting: Counter[str] = Counter()
        for section in query.wish.sections:
            rows = self._pools(section, query, query.scope.parts[0], 1)[-1].rows
            fitting.update(self._table.city_of(row) for row in rows.tolist())
            ranked = self._rankings.ranked(rows, query, _VOTERS)
            whole = sum(1 / rank for rank in range(1, len(ranked) + 1))
            for rank, (row, _) in enumerate(ranked, 1):
                votes[self._table.city_of(row)] += 1 / rank / whole
        city = max(
            query.scope.parts[0].cities or self._table.cities, key=lambda each: (round(votes[each], 9), fitting[each])
        )
        return city, city

    def _section(self, section: str, query: Query) -> _Chosen:
        """Every place has its turn, so that each is represented as far as it has records."""
        chosen = [self._part(section, query, part) for part in query.scope.parts]
        turns = itertools.zip_longest(*(each.hits for each in chosen))
        hits = {hit.record.id: hit for turn in turns for hit in turn if hit is not None}
        relaxed: dict[str, int] = {}
        for each in (relaxed for part in chosen for relaxed in part.relaxed):
            relaxed[each.condition] = relaxed.get(each.condition, 0) + each.fitting
        return _Chosen(
            hits=tuple(hits.values())[: query.wish.per_section],
            relaxed=tuple(Relaxed(condition=name, fitting=count) for name, count in relaxed.items()),
            nearby=tuple(dict.fromkeys(city for each in chosen for city in each.nearby)),
        )

    def _part(self, section: str, query: Query, part: Part) -> _Chosen:
        count = query.wish.per_section
        hits: list[Hit] = []
        relaxed: dict[str, int] = {}
        nearby: tuple[str, ...] = ()
        for pool in self._pools(section, query, part, -(-_third(query.wish) // len(query.scope.parts))):
            picked = self._rankings.picked(pool.rows, query, count - len(hits))
            if picked and pool.given_up:
                relaxed.setdefault(pool.given_up, len(hits))
            if pool.given_up == "destination":
                nearby = tuple(dict.fromkeys(self._table.city_of(row) for row, _ in picked))
            hits += [Hit(record=self._table.records[row], section=section, score=score) for row, score in picked]
            if len(hits) >= count:
                break
        return _Chosen(
            hits=tuple(hits),
            relaxed=tuple(Relaxed(condition=name, fitting=before) for name, before in relaxed.items()),
            nearby=nearby,
        )

    def _pools(self, section: str, query: Query, part: Part, enough: int) -> tuple[Pool, ...]:
        kinds = self._kinds.get(section, ())
        return pools(self._table, part, query.scope.allowed, query.wish.wanted, kinds, enough)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    hits: tuple[Hit, ...]
    relaxed: tuple[Relaxed, ...]
    nearby: tuple[str, ...]


def _is_open(scope: Scope, wish: Wish) -> bool:
    """Whether one city has to be chosen: none is named, or one country or region for no more than a few nights."""
    if not scope.asked:
        return bool(scope.allowed.size)
    only_wide = len(scope.parts) == 1 and len(scope.parts[0].cities) > 1
    return only_wide and wish.wanted.nights < _MANY_NIGHTS


def _third(wish: Wish) -> int:
    """Records with which a section is not short: callers ask for several records for each item."""
    return -(-wish.per_section // 3)
