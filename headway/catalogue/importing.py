"""A file as records, with an account of what was not one.

Decides nothing about formats or fields; puts together decoding, reading, conversion and the check for records that
occur twice. Never raises for what a file holds: whatever bytes it has, the answer is records, or reasons, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.catalogue.conversion import Converted, convert
from headway.catalogue.encoding import NotTextError, decode
from headway.catalogue.formats import FORMATS, FormatError, Row, detect
from headway.catalogue.record import Record, RecordError
from headway.catalogue.shape import Shape, load_shape

ALL, NOTHING, PARTLY = 0, 1, 3
"""Exit codes of an import: everything was read, nothing could be read, some records were left out."""

Progress = Callable[[int], None]
"""Is told how many rows were read so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What is to be said about one record of a file; ``number`` 0 means the file as a whole."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an import gave. ``mended`` are records that were read, but not quite as they stood."""

    records: tuple[Record, ...] = ()
    skipped: tuple[Remark, ...] = ()
    mended: tuple[Remark, ...] = ()
    format: str = ""
    encoding: str = ""

    @property
    def exit_code(self) -> int:
        """ALL, PARTLY or NOTHING."""
        if not self.records:
            return NOTHING
        return PARTLY if self.skipped else ALL


def import_file(
    path: Path, format_name: str, shape: Shape, *, encoding: str = "", progress: Progress | None = None
) -> Report:
    """Reads a file; ``format_name`` is one of FORMATS or "auto". Raises OSError when it cannot be opened."""
    return import_bytes(path.read_bytes(), path.name, format_name, shape, encoding=encoding, progress=progress)


def import_bytes(
    data: bytes, name: str, format_name: str, shape: Shape, *, encoding: str = "", progress: Progress | None = None
) -> Report:
    """Reads the bytes of a file called ``name``; see ``import_file``."""
    try:
        decoded = decode(data, encoding)
    except NotTextError as fault:
        return Report(skipped=(Remark(number=0, reason=str(fault)),))
    chosen = detect(name, decoded.text) if format_name == "auto" else format_name
    rows = FORMATS[chosen](decoded.text, shape.records)
    records: dict[str, Record] = {}
    seen: dict[str, int] = {}
    skipped: list[Remark] = []
    mended: list[Remark] = []
    for row in _watched(_guarded(rows), progress):
        if row.note:
            mended.append(Remark(number=row.number, reason=row.note))
        try:
            converted = _converted(row, shape)
        except RecordError as fault:
            skipped.append(Remark(number=row.number, reason=str(fault)))
            continue
        record = converted.record
        if record.id in seen:
            reason = f"the id {record.id} is already that of record {seen[record.id]}"
            skipped.append(Remark(number=row.number, reason=reason))
            continue
        seen[record.id] = row.number
        records[record.id] = record
        mended += [Remark(number=row.number, reason=note) for note in converted.notes]
    if not records and not skipped:
        skipped.append(Remark(number=0, reason="there are no records in this file"))
    return Report(
        records=tuple(records.values()),
        skipped=tuple(skipped),
        mended=tuple(mended),
        format=chosen,
        encoding=decoded.encoding,
    )


def shape_for(format_name: str, mapping: str) -> Shape:
    """The mapping asked for, else the one that goes with a format. Raises ShapeError."""
    return load_shape(mapping or ("kr-standard" if format_name == "kr-standard" else "default"))


def _converted(row: Row, shape: Shape) -> Converted:
    if row.fault:
        raise RecordError(row.fault)
    return convert(row.fields, shape)


def _guarded(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows; a file that turns out not to be of its format ends in a row that says so."""
    try:
        yield from rows
    except FormatError as fault:
        yield Row(number=0, fault=str(fault))


def _watched(rows: Iterable[Row], progress: Progress | None) -> Iterator[Row]:
    for count, row in enumerate(rows, start=1):
        if progress is not None and count % 256 == 0:
            progress(count)
        yield row
