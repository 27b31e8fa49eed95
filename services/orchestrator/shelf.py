"""Which records go into which piece of an answer.

Keeps the records of one request by section and hands them out, each to one piece only, so that no record is written
about twice although pieces are written at the same time. Pure: records are opaque but for their id and section.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from services.orchestrator import policy
from services.orchestrator.neighbours import Record
from services.orchestrator.piece import Piece


class Shelf:
    """Records waiting to be written about.

    ``per_item`` records are kept for each item that is held back; a piece has at most ``per_piece`` items.
    """

    def __init__(self, *, per_item: int, per_piece: int) -> None:
        self._per_item = per_item
        self._per_piece = per_piece
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
            started += self._cut(wish.section, used, range(1, wish.at_once + 1))
        self.pieces += started
        return started

    def held_back(self, web: Sequence[Record]) -> list[Piece]:
        """The pieces for what was held back, and for sections that no internal record was found for.

        Held-back items go to the sections that web records are evidently about; the others rest on what is left of the
        internal records. Web records that may fit anywhere, which are pages about a trip rather than about one place,
        come last.
        """
        begun = {piece.section for piece in self.pieces}
        self._place_held_back(web, begun)
        open_wishes = [wish for wish in self.wishes if wish.held_back or wish.section not in begun]
        anywhere = [record for record in web if not record.section]
        shares = policy.shared_out(len(anywhere), [wish.section for wish in open_wishes])
        started = []
        for wish in open_wishes:
            fitting = [record for record in web if record.section == wish.section]
            share, anywhere = anywhere[: shares[wish.section]], anywhere[shares[wish.section] :]
            records = [*fitting, *self._waiting.pop(wish.section, ()), *share]
            first = wish.at_once + 1 if wish.section in begun else 1
            if records:
                started += self._cut(wish.section, records, range(first, wish.total + 1))
        self.pieces += started
        return started

    def of_section(self, section: str) -> list[Record]:
        """All records of a section, those handed out first, best first within each."""
        handed_out = [record for piece in self.pieces if piece.section == section for record in piece.records]
        return handed_out + self._waiting.get(section, [])

    def _cut(self, section: str, records: Sequence[Record], ranks: Sequence[int]) -> list[Piece]:
        """Pieces of bounded size; ranks and records are dealt like cards, so that each piece has some of the best."""
        hands = policy.dealt(len(ranks), per_piece=self._per_piece)
        pieces = []
        for number, hand in enumerate(hands):
            dealt = tuple(records[number :: len(hands)])
            if dealt:
                pieces.append(Piece(section=section, ranks=tuple(ranks[place - 1] for place in hand), records=dealt))
        return pieces

    def _place_held_back(self, web: Sequence[Record], begun: set[str]) -> None:
        source = next((wish for wish in self.wishes if wish.held_back), None)
        if source is None or source.section not in begun:
            return
        evident = Counter(record.section for record in web if record.section in begun)
        places = policy.placed(source.held_back, evident, otherwise=source.section)
        self.wishes = tuple(replace(wish, held_back=places.get(wish.section, 0)) for wish in self.wishes)
