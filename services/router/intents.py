"""The example utterances of a domain, searchable by similarity.

Decides nothing: it says which examples are nearest to an embedding. What follows from that is ``policy``'s business.
"""

from __future__ import annotations

import faiss
import numpy as np

from headway.domain import Domain
from headway.embedding import Encoder, Vectors
from services.router.policy import Neighbour

NEAREST = 32


class IntentIndex:
    """A flat inner-product index over all examples: exact, and a few hundred vectors take 0.05 ms."""

    def __init__(self, domain: Domain, encoder: Encoder) -> None:
        """Encodes every example once, each alone, as queries are: about 0.4 ms each with the multilingual model."""
        lines = [
            (intent.name, line) for intent in domain.intents for group in intent.examples.values() for line in group
        ]
        self._intents = [name for name, _ in lines]
        self._index = faiss.IndexFlatIP(encoder.dimensions)
        if lines:
            self._index.add(np.concatenate([encoder.encode([line]) for _, line in lines]))

    def __len__(self) -> int:
        return len(self._intents)

    def nearest(self, vector: Vectors) -> list[Neighbour]:
        """The nearest examples to ``vector``, shape (dimensions,), most similar first."""
        if not self._intents:
            return []
        similarities, positions = self._index.search(vector[np.newaxis, :], min(NEAREST, len(self._intents)))
        return [
            Neighbour(intent=self._intents[at], similarity=float(similarity))
            for similarity, at in zip(similarities[0], positions[0], strict=True)
        ]
