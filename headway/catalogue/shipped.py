"""The index of a domain: its own catalogue files plus what was imported, kept up to date in one file.

Decides when an index file is stale and what is done about it: what is missing or out of date is built anew, imported
records stay, a file that is not a catalogue is never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headway.catalogue.importing import Remark, import_bytes
from headway.catalogue.index import Encoder, Index, Progress, build, fingerprint_of
from headway.catalogue.index_file import IndexFileError, MissingIndexError, OtherModelError, load, locked, save
from headway.catalogue.record import Record
from headway.catalogue.shape import load_shape

MOST_AT_START = 20_000
"""Most records that are embedded again without being asked to; more take too long for the start of a service."""


class BrokenCatalogueError(ValueError):
    """The domain's own catalogue files have faults; the message has one line for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An index that is up to date, and one sentence on what was done for that; empty when nothing was."""

    index: Index
    done: str = ""


def own_files(domain_root: Path) -> dict[str, bytes]:
    """The catalogue files of a domain by name."""
    return {path.name: path.read_bytes() for path in sorted((domain_root / "catalogue").glob("*.jsonl"))}


def own_records(files: dict[str, bytes]) -> tuple[Record, ...]:
    """The records of a domain's catalogue files. Raises BrokenCatalogueError naming every fault by file and line."""
    shape = load_shape("default")
    records: dict[str, Record] = {}
    faults: list[str] = []
    for name, data in files.items():
        report = import_bytes(data, name, "jsonl", shape)
        faults += [f"{name}:{remark.number}: {remark.reason}" for remark in _faults(report.skipped, data)]
        for record in report.records:
            if record.id in records:
                faults.append(f"{name}: the id {record.id} is also in another file")
            records[record.id] = record
    if faults:
        raise BrokenCatalogueError("\n".join(faults))
    return tuple(records.values())


def rebuilt(
    domain_name: str,
    domain_root: Path,
    encoder: Encoder,
    previous: Index | None,
    *,
    with_own: bool = True,
    progress: Progress | None = None,
) -> Index:
    """The index of a domain's present files, unless not ``with_own``, and of the imported records of ``previous``."""
    files = own_files(domain_root) if with_own else {}
    return build(
        encoder,
        own=own_records(files),
        imported=previous.imported if previous else (),
        domain=domain_name,
        fingerprint=fingerprint_of(files) if with_own else "",
        previous=previous,
        progress=progress,
    )


def with_imports(index: Index, records: Iterable[Record], encoder: Encoder, progress: Progress | None = None) -> Index:
    """The index with further imported records; one with the same id takes the place of the old one."""
    return build(
        encoder,
        own=index.records[: index.own],
        imported=(*index.imported, *records),
        domain=index.domain,
        fingerprint=index.fingerprint,
        previous=index,
        progress=progress,
    )


def opened(
    path: Path, domain_name: str, domain_root: Path, encoder: Encoder, progress: Progress | None = None
) -> Opened:
    """Loads the index at ``path`` and brings it up to date with the domain's files and the encoder, on disk as well.

    Raises IndexFileError for a file that is not a catalogue, for one with imported records of another domain, and for
    one so large that making it anew needs a decision; BrokenCatalogueError for faults in the domain's files.
    """
    previous, why = _previous(path, domain_name, encoder)
    if previous is not None and not _reason_to_rebuild(previous, why, domain_root):
        return Opened(index=previous)
    with locked(path):
        # Somebody else may have done it while we waited.
        previous, why = _previous(path, domain_name, encoder)
        why = _reason_to_rebuild(previous, why, domain_root)
        if previous is not None and not why:
            return Opened(index=previous)
        with_own = previous is None or bool(previous.fingerprint)
        index = rebuilt(domain_name, domain_root, encoder, previous, with_own=with_own, progress=progress)
        save(index, path)
    return Opened(index=index, done=f"{why}: built {path} with {len(index.records)} records")


def _reason_to_rebuild(index: Index | None, why: str, domain_root: Path) -> str:
    """``why``, else that the domain's files are not those the index was made of; one made without them is never
    stale."""
    if why or index is None or not index.fingerprint or index.fingerprint == fingerprint_of(own_files(domain_root)):
        return why
    return "the catalogue of the domain has changed"


def _previous(path: Path, domain_name: str, encoder: Encoder) -> tuple[Index | None, str]:
    """What is at ``path``, and why it cannot stay as it is."""
    try:
        previous, why = load(path, model=encoder.model), ""
    except MissingIndexError:
        return None, "there was no index"
    except OtherModelError as fault:
        previous, why = load(path), "the index was made with another embedding model"
        if len(previous.records) > MOST_AT_START:
            raise IndexFileError(str(fault)) from fault
    if previous.domain == domain_name:
        return previous, why
    if previous.imported:
        raise IndexFileError(
            f"{path} holds imported records of the domain {previous.domain}, in use is {domain_name}: "
            "move it away, or keep the state of each domain in a folder of its own"
        )
    return None, f"the index was that of the domain {previous.domain}"


def _faults(skipped: Iterable[Remark], data: bytes) -> list[Remark]:
    # An empty file is an empty catalogue, not a fault.
    return [remark for remark in skipped if data.strip() or remark.number]
