"""Judges what a model wrote: a raw object becomes a draft, or is dropped and counted.

Decides that an item keeps to the domain's schema, rests on records it was given, is about none that was written
about already, and is plain text of bounded length. Knows neither models nor streams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from headway.plain_text import plain
from headway.records import Draft, Record
from services.generator.schema_check import Check

TITLE_CHARS = 120
BODY_CHARS = 600
REASON_CHARS = 240
_OWN_FIELDS = frozenset({"sources", "title", "body", "reason"})


class Drop(StrEnum):
    """Why an item was dropped."""

    SCHEMA = "schema"
    SOURCES = "sources"
    REPEATED = "repeated"
    EMPTY = "empty"


class Intake:
    """Takes the items of one answer, over all its attempts.

    ``aliases`` are the record names of the prompt ("r1") and stand for record ids; a record's own id is accepted as
    well.
    """

    def __init__(self, *, check: Check, aliases: Mapping[str, Record], given: Iterable[str] = ()) -> None:
        self._check = check
        self._records = {record.id: record for record in aliases.values()} | dict(aliases)
        self._given = set(given)
        self.dropped: Counter[Drop] = Counter()

    @property
    def given(self) -> frozenset[str]:
        """Records that were written about, those given from the start included."""
        return frozenset(self._given)

    def accept(self, raw: Mapping[str, Any]) -> Draft | None:
        """The draft, or None when it is dropped."""
        records = [] if self._check(raw) else self._referred(raw.get("sources"))
        body, reason = _text(raw, "body", BODY_CHARS), _text(raw, "reason", REASON_CHARS)
        if why := self._fault(raw, records, body or reason):
            self.dropped[why] += 1
            return None
        self._given.add(records[0].id)
        return Draft(
            title=_text(raw, "title", TITLE_CHARS) or plain(records[0].name, TITLE_CHARS),
            body=body,
            reason=reason,
            sources=tuple(record.id for record in records),
            extra={name: value for name, value in raw.items() if name not in _OWN_FIELDS},
        )

    def take(self, draft: Draft) -> None:
        """Notes a draft that comes from elsewhere, for example from the floor."""
        self._given.add(draft.sources[0])

    def _referred(self, sources: Any) -> list[Record]:
        """The records referred to, each once, in order; what refers to nothing that was given is passed over."""
        found: dict[str, Record] = {}
        for source in sources if isinstance(sources, list) else ():
            record = self._records.get(source.strip()) if isinstance(source, str) else None
            if record is not None:
                found.setdefault(record.id, record)
        return list(found.values())

    def _fault(self, raw: Mapping[str, Any], records: list[Record], text: str) -> Drop | None:
        if not records:
            return Drop.SCHEMA if self._check(raw) else Drop.SOURCES
        if records[0].id in self._given:
            return Drop.REPEATED
        return None if text else Drop.EMPTY


def _text(raw: Mapping[str, Any], name: str, limit: int) -> str:
    value = raw.get(name)
    return plain(value, limit) if isinstance(value, str) else ""
