"""Several rankings as one, by reciprocal rank fusion.

Decides how rankings are joined: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and
individual Rank Learning Methods", SIGIR 2009. The score of d is the sum over rankings r of weight(r) / (60 +
rank_r(d)), rank counted from 1; a ranking that does not hold d adds nothing. Ranks need no common scale, which scores
of different searches lack. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

K = 60
"""The constant of the paper: large enough that one ranking alone does not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Groups of rows, best first; rows of one group tie. ``weight`` is how much the ranking counts."""

    groups: Sequence[Sequence[int]]
    weight: float = 1.0


def in_order(rows: Iterable[int], weight: float = 1.0) -> Ranking:
    """A ranking without ties."""
    return Ranking(groups=tuple((row,) for row in rows), weight=weight)


def fused(rankings: Iterable[Ranking]) -> list[tuple[int, float]]:
    """Rows with their scores, best first; rows with equal scores in the order of their numbers."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        rank = 1
        for group in ranking.groups:
            for row in group:
                scores[row] = scores.get(row, 0.0) + ranking.weight / (K + rank)
            rank += len(group)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
