"""A choice that fits and does not repeat itself, by maximal marginal relevance.

Decides what is taken next: Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering
Documents and Producing Summaries", SIGIR 1998. Next is the candidate with the highest balance * relevance - (1 -
balance) * (highest similarity to one that was taken). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BALANCE = 0.75
"""How much fitting counts against being different, 0 to 1."""


def diverse(
    relevance: Sequence[float], vectors: NDArray[np.float32], count: int, *, balance: float = BALANCE
) -> list[int]:
    """Positions of at most ``count`` candidates, in the order in which they are taken; the first is the most relevant
    one.

    ``vectors`` has shape (candidates, dimensions), unit length. Relevance of any scale; it is stretched to 0 to 1.
    """
    total = len(relevance)
    if total == 0 or count <= 0:
        return []
    fit = _stretched(np.asarray(relevance, dtype=np.float64))
    nearest = np.zeros(total)
    taken: list[int] = []
    free = np.ones(total, dtype=np.bool_)
    for _ in range(min(count, total)):
        value = np.where(free, balance * fit - (1 - balance) * nearest, -np.inf)
        best = int(np.argmax(value if taken else np.where(free, fit, -np.inf)))
        taken.append(best)
        free[best] = False
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return taken


def _stretched(values: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = float(values.min()), float(values.max())
    return np.ones_like(values) if high <= low else (values - low) / (high - low)
