"""What the arms know: the catalogue, searched in the process, and its records as whole pages and as short facts.

Decides what a page and what a fact is. Refuses to know models and prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.catalogue.index import Index, embedded_text
from headway.catalogue.plaintext import shorten
from headway.catalogue.record import Record, as_object, in_language
from headway.domain import Domain
from headway.embedding import BatchedEncoder

EVERYTHING = ""
"""The name of all sections together."""
PAGE_NEIGHBOURS = 6
MAX_FACTS = 320
MAX_DESCRIPTION = 160
MOST_TAGS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What may be written about. `page` is the whole text, `facts` what a prompt needs of it."""

    id: str
    name: str
    page: str
    facts: str


class Knowledge:
    """The catalogue of a domain. Immutable once built."""

    def __init__(self, index: Index, domain: Domain, encoder: BatchedEncoder) -> None:
        self.records = index.records
        self._domain = domain
        self._vectors = index.vectors
        self._encoder = encoder
        self._by_id = {record.id: record for record in index.records}
        self._rows = {section.name: self._rows_of(section.kinds) for section in domain.sections}
        self._rows[EVERYTHING] = np.arange(len(index.records))
        self._pages = {record.id: _page(record, self._near(record)) for record in index.records}

    async def embed(self, query: str) -> NDArray[np.float32]:
        """The vector of a query, off the event loop."""
        return await self._encoder.embed(query)

    def nearest(self, vector: NDArray[np.float32], section: str, most: int) -> list[str]:
        """Ids of the records nearest to a query, best first, of one section or of `EVERYTHING`."""
        rows = self._rows[section]
        scores = self._vectors[rows] @ vector
        return [self.records[int(rows[place])].id for place in np.argsort(-scores, kind="stable")[:most]]

    def document(self, identity: str, language: str) -> Document:
        """A record as something to write about."""
        record = self._by_id[identity]
        return Document(
            id=identity,
            name=in_language(record.names, language),
            page=self._pages[identity],
            facts=self._facts(record, language),
        )

    def section_of(self, record: Record) -> str:
        """The section a record is for; empty when there is none."""
        return self._domain.section_of_kind(record.kind)

    def page(self, record: Record) -> str:
        """The whole page about a record."""
        return self._pages[record.id]

    def _rows_of(self, kinds: Iterable[str]) -> NDArray[np.int64]:
        wanted = set(kinds)
        return np.array([row for row, record in enumerate(self.records) if record.kind in wanted], dtype=np.int64)

    def _near(self, record: Record) -> list[Record]:
        """Records of the same city, those in the neighbourhood first."""
        others = [each for each in self.records if each.city == record.city and each.id != record.id]
        return sorted(others, key=lambda each: (_distance(record, each), each.id))[:PAGE_NEIGHBOURS]

    def _facts(self, record: Record, language: str) -> str:
        section = self.section_of(record)
        titles: Mapping[str, str] = next((each.titles for each in self._domain.sections if each.name == section), {})
        tags = (self._domain.tags[tag].label(language) for tag in record.tags[:MOST_TAGS] if tag in self._domain.tags)
        parts = (
            in_language(titles, language),
            in_language(record.area, language),
            ", ".join(tags),
            shorten(in_language(record.description, language), MAX_DESCRIPTION),
        )
        return shorten(" · ".join(part for part in parts if part), MAX_FACTS)


def remote_text(record: Record) -> str:
    """What of a record an embeddings API is given."""
    return embedded_text(record)


def _distance(one: Record, other: Record) -> float:
    if one.lat is None or one.lon is None or other.lat is None or other.lon is None:
        return math.inf
    return math.hypot(one.lat - other.lat, one.lon - other.lon)


def _page(record: Record, near: Sequence[Record]) -> str:
    """A page as a content system holds it: all fields and languages, and what else is in the neighbourhood."""
    lines = [f"{key}: {value}" for key, value in _flat(as_object(record))]
    lines += ["", "Nearby"]
    for each in near:
        lines += [
            f"- {value}" for key, value in _flat(as_object(each)) if key.split(".")[0] in ("names", "description")
        ]
    return "\n".join(lines)


def _flat(data: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", str(text)) for inner, text in value.items())
        else:
            yield key, ", ".join(map(str, value)) if isinstance(value, list) else str(value)
