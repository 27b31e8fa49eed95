"""Items on the floor, for when the generator left something open or could not be asked at all.

Decides nothing: the sentences are those of ``headway.floor``, the same that the generator writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.budget import Tier
from headway.floor import Phrases, write
from headway.messages import item_to_message, record_from_message
from services.orchestrator.neighbours import Item, Record


class FloorWriter:
    """Writes items from records alone, in microseconds each."""

    def __init__(self, phrases: Mapping[str, Phrases]) -> None:
        self._phrases = phrases

    def __call__(self, records: Sequence[Record], ranks: Sequence[int], language: str, section: str) -> list[Item]:
        """At most one item for each rank, about the best records that can carry one."""
        known = {record.record_id: record for record in records}
        values = [record_from_message(record) for record in known.values()]
        drafts = write(values, count=len(ranks), language=language, given=(), phrases=self._phrases)
        return [
            item_to_message(draft, Tier.EXTRACTIVE, known[draft.sources[0]], section=section, rank=rank)
            for draft, rank in zip(drafts, ranks, strict=False)
        ]
