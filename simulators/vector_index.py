"""Decides what a vector database keeps and what is nearest in it: by cosine, exactly.

Refuses to know how it is asked over HTTP, and what the vectors mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VECTORS = 50_000
"""In all namespaces together; more are refused, so that nobody fills the memory."""


class Collections:
    """The vectors that were put in, by namespace and id. Lives as long as the process; forgotten with the rest."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, tuple[NDArray[np.float32], Mapping[str, Any]]]] = {}
        self._matrices: dict[str, NDArray[np.float32]] = {}

    def put(self, namespace: str, identity: str, vector: NDArray[np.float32], metadata: Mapping[str, Any]) -> None:
        """Keep one, in the place of one with the same id. `ValueError` when there are too many, or when its length is
        not that of the others."""
        rows = self._rows.setdefault(namespace, {})
        if identity not in rows and sum(map(len, self._rows.values())) >= MOST_VECTORS:
            raise ValueError(f"there are {MOST_VECTORS} vectors already")
        if rows and len(next(iter(rows.values()))[0]) != len(vector):
            raise ValueError(f"Vector dimension {len(vector)} does not match the dimension of the index")
        rows[identity] = vector / max(float(np.linalg.norm(vector)), 1e-12), metadata
        self._matrices.pop(namespace, None)

    def nearest(self, namespace: str, vector: NDArray[np.float32], most: int) -> list[dict[str, Any]]:
        """The nearest by cosine, best first; equal ones in the order in which they came.
        `ValueError` when the vector's length is not theirs."""
        rows = self._rows.get(namespace, {})
        if not rows:
            return []
        matrix = self._matrices.get(namespace)
        if matrix is None:
            matrix = self._matrices[namespace] = np.stack([row for row, _ in rows.values()])
        if matrix.shape[1] != len(vector):
            raise ValueError(f"Vector dimension {len(vector)} does not match the dimension of the index")
        scores = matrix @ (vector / max(float(np.linalg.norm(vector)), 1e-12))
        names, kept = list(rows), np.argsort(-scores, kind="stable")[:most]
        return [
            {"id": names[place], "score": round(float(scores[place]), 6), "metadata": rows[names[place]][1]}
            for place in kept
        ]

    def forget(self) -> None:
        """All of them."""
        self._rows.clear()
        self._matrices.clear()
