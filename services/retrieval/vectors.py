"""The nearest records to a vector, on FAISS.

Decides between an exact search and the graph: exact up to ten thousand records to look through, which takes a
fraction of a millisecond and misses nothing; above that the graph. Both by inner product, which for unit vectors is
the cosine.
"""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from headway.catalogue.index import GRAPH_FROM, GRAPH_SEARCH_BREADTH, Vectors
from services.retrieval.table import Rows

_FAISS: Any = faiss  # its stubs do not know the Python side of parameters and selectors


class VectorSearch:
    """Searches ``vectors`` (one unit vector a record), with the ``graph`` over them when there is one."""

    def __init__(self, vectors: Vectors, graph: Any = None) -> None:
        self._vectors = vectors
        self._graph = graph
        self._flat: Any = None
        if graph is None and len(vectors):
            self._flat = faiss.IndexFlatIP(vectors.shape[1])
            self._flat.add(vectors)

    def nearest(self, query: NDArray[np.float32], among: Rows, count: int) -> list[int]:
        """At most ``count`` of the rows ``among``, nearest first."""
        count = min(count, len(among))
        if count <= 0:
            return []
        if self._flat is not None:
            parameters = _FAISS.SearchParameters(sel=self._selector(among))
            _, rows = self._flat.search(query[np.newaxis], count, params=parameters)
            return [int(row) for row in rows[0] if row >= 0]
        if len(among) > GRAPH_FROM:
            breadth = max(GRAPH_SEARCH_BREADTH, 2 * count)
            parameters = _FAISS.SearchParametersHNSW(sel=self._selector(among), efSearch=breadth)
            _, rows = self._graph.search(query[np.newaxis], count, params=parameters)
            return [int(row) for row in rows[0] if row >= 0]
        scores = self._vectors[among] @ query
        best = np.argpartition(-scores, count - 1)[:count]
        return [int(row) for row in among[best[np.argsort(-scores[best], kind="stable")]]]

    def _selector(self, among: Rows) -> Any:
        chosen = np.zeros(len(self._vectors), dtype=np.bool_)
        chosen[among] = True
        return _FAISS.IDSelectorBitmap(np.packbits(chosen, bitorder="little"))
