"""Which records go into which piece of an answer.

Keeps the records of one request by section and hands them out, each to one piece only, so that no record is written
about twice although pieces are written at the same time. Pure: records are opaque but for their id and section.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.orchestrator import policy
from services.orchestrator.neighbours import Record
from services.orchestrator.piece import Piece


class Shelf:
    """Records waiting to be written about. ``per_item`` records are kept for each item that is held back."""

    def __init__(self, *, per_item: int) -> None:
        self._per_item = per_item
        self._waiting: dict[str, list[Record]] = {}
        self.wishes: tuple[policy.Wish, ...] = ()
        self.pieces: list[Piece] = []

    def empty(self) -> bool:
        """True when no record has come at all."""
        return not self.pieces and not any(self._waiting.values())

    def internal(self, records: Sequence[Record]) -> list[Piece]:
        """The pieces to start on internal records; those that a held-back item may need stay here."""
        for record in records:
            self._waiting.setdefault(record.section, []).append(record)
        started = []
        for wish in self.wishes:
            known = self._waiting.get(wish.section, [])
            if not known:
                continue
            kept = min(wish.held_back * self._per_item, max(0, len(known) - wish.at_once))
            used, self._waiting[wish.section] = known[: len(known) - kept], known[len(known) - kept :]
            started.append(Piece(section=wish.section, count=wish.at_once, first_rank=1, records=tuple(used)))
        self.pieces += started
        return started

    def held_back(self, web: Sequence[Record]) -> list[Piece]:
        """The pieces for what was held back: on web records of the section first, then on what is left of the internal
        ones, then on web records that may fit anywhere, which are pages about a trip rather than about one place.

        A section that no internal record was found for is written whole.
        """
        begun = {piece.section for piece in self.pieces}
        open_wishes = [wish for wish in self.wishes if wish.held_back or wish.section not in begun]
        shares = policy.shared_out(sum(not record.section for record in web), open_wishes)
        anywhere = iter([record for record in web if not record.section])
        started = []
        for wish in open_wishes:
            fitting = [record for record in web if record.section == wish.section]
            share = [record for _, record in zip(range(shares.get(wish.section, 0)), anywhere, strict=False)]
            records = (*fitting, *self._waiting.pop(wish.section, ()), *share)
            if not records:
                continue
            resumed = wish.section in begun
            count = wish.held_back if resumed else wish.total
            first = wish.at_once + 1 if resumed else 1
            started.append(Piece(section=wish.section, count=count, first_rank=first, records=records))
        self.pieces += started
        return started

    def of_section(self, section: str) -> list[Record]:
        """All records of a section, those handed out first, best first within each."""
        handed_out = [record for piece in self.pieces if piece.section == section for record in piece.records]
        return handed_out + self._waiting.get(section, [])
