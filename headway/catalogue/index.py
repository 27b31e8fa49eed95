"""The searchable catalogue in memory: records, their vectors and, when there are many, a graph over them.

Decides what text of a record is embedded, what is embedded again when records change, and from which size on a graph is
kept. Knows no files, no queries and no model: an encoder is whatever turns texts into unit vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import faiss
import numpy as np
from numpy.typing import NDArray

from headway.catalogue.record import Record, in_language

Vectors = NDArray[np.float32]
"""Rows of unit length, one for each record, in the order of the records."""
Progress = Callable[[int, int], None]
"""Is told how many texts are embedded, out of how many."""

GRAPH_FROM = 10_000
"""Number of records above which a graph pays: up to here an exact search is as fast and needs nothing built."""
GRAPH_NEIGHBOURS = 16
GRAPH_BUILD_BREADTH = 200
GRAPH_SEARCH_BREADTH = 64
_BATCH = 64


class Encoder(Protocol):
    """Turns texts into vectors of unit length, ``dimensions`` wide; ``model`` names the model for good."""

    @property
    def model(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    def encode(self, texts: Sequence[str]) -> Vectors: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A catalogue ready to be searched.

    The first ``own`` records are those that the domain ships with, ``fingerprint`` (empty: none) is that of their
    files; the others were imported. ``graph`` is a FAISS index over ``vectors``, or None when there are few.
    """

    records: tuple[Record, ...]
    vectors: Vectors
    model: str
    domain: str = ""
    fingerprint: str = ""
    own: int = 0
    graph: Any = None

    @property
    def imported(self) -> tuple[Record, ...]:
        """The records that were imported."""
        return self.records[self.own :]


def build(
    encoder: Encoder,
    *,
    own: Iterable[Record] = (),
    imported: Iterable[Record] = (),
    domain: str = "",
    fingerprint: str = "",
    previous: Index | None = None,
    progress: Progress | None = None,
) -> Index:
    """An index of the domain's ``own`` and of ``imported`` records; of two with the same id the later one counts, the
    imported one before the own.

    Vectors of texts that ``previous`` already has, made by the same model, are taken over.
    """
    added = {record.id: record for record in imported}
    shipped = {record.id: record for record in own if record.id not in added}
    records = (*shipped.values(), *added.values())
    known = _known_vectors(previous, encoder)
    texts = [embedded_text(record) for record in records]
    vectors = _embedded(texts, known, encoder, progress)
    return Index(
        records=records,
        vectors=vectors,
        model=encoder.model,
        domain=domain,
        fingerprint=fingerprint,
        own=len(shipped),
        graph=graph_over(vectors),
    )


def graph_over(vectors: Vectors) -> Any:
    """An HNSW graph (Malkov and Yashunin 2018) for inner products, or None when an exact search is as fast."""
    if len(vectors) <= GRAPH_FROM:
        return None
    graph = faiss.IndexHNSWFlat(vectors.shape[1], GRAPH_NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = GRAPH_BUILD_BREADTH
    graph.hnsw.efSearch = GRAPH_SEARCH_BREADTH
    graph.add(vectors)
    return graph


def embedded_text(record: Record) -> str:
    """What of a record is embedded: its names in all languages, city, kind, tags, and what is said about it in one
    language.

    Embedding costs by the character, and a model of several languages finds a text in any of them; that is why one
    does.
    """
    names = ", ".join(dict.fromkeys(record.names.values()))
    tags = ", ".join(tag.replace("-", " ") for tag in record.tags)
    parts = (names, record.city.replace("-", " "), record.kind, tags, in_language(record.description, "en"))
    return ". ".join(part.strip(" .") for part in parts if part)[:600]


def fingerprint_of(files: Mapping[str, bytes]) -> str:
    """Identifies the content of a domain's catalogue files by name."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(files):
        digest.update(f"{name}:{len(files[name])}:".encode())
        digest.update(files[name])
    return digest.hexdigest()


def _known_vectors(previous: Index | None, encoder: Encoder) -> dict[str, Vectors]:
    if previous is None or previous.model != encoder.model:
        return {}
    return {embedded_text(record): vector for record, vector in zip(previous.records, previous.vectors, strict=True)}


def _embedded(
    texts: Sequence[str], known: Mapping[str, Vectors], encoder: Encoder, progress: Progress | None
) -> Vectors:
    vectors: Vectors = np.zeros((len(texts), encoder.dimensions), dtype=np.float32)
    missing = [position for position, text in enumerate(texts) if text not in known]
    for position, text in enumerate(texts):
        if text in known:
            vectors[position] = known[text]
    # Texts of like length go together: a batch is padded to its longest.
    missing.sort(key=lambda position: len(texts[position]))
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        vectors[batch] = encoder.encode([texts[position] for position in batch])
        if progress is not None:
            progress(start + len(batch), len(missing))
    return vectors
