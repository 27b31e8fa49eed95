"""The one file that a catalogue is kept in, as a zip archive without compression.

Decides what is in it, when it is refused, and that it is replaced as a whole or not at all:

    meta.json       format, version, embedding model, counts, fingerprint of the domain's own files
    records.jsonl   the records
    vectors.npy     their vectors, float32
    graph.faiss     the graph over them, when there are many

Every member has a checksum (the archive's own CRC-32), so damage is found when the file is read.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import orjson

from headway.catalogue.index import GRAPH_SEARCH_BREADTH, Index, Vectors
from headway.catalogue.record import as_object, trusted

FORMAT = "headway-catalogue"
VERSION = 1
"""Also changes when what of a record is embedded does: vectors of old texts must not be taken over."""
# Missing on some systems.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
_META, _RECORDS, _VECTORS, _GRAPH = "meta.json", "records.jsonl", "vectors.npy", "graph.faiss"


class IndexFileError(ValueError):
    """The file cannot be used as a catalogue; the message names it and says what to do."""


class MissingIndexError(IndexFileError):
    """There is no such file."""


class OtherModelError(IndexFileError):
    """The index was made with another embedding model; its vectors mean nothing to this one."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps other processes that use this lock from changing the index at ``path`` meanwhile; waits for its turn.

    Readers need no lock. Where the system has no such locks nothing is kept, and the last writer wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with path.with_name(path.name + ".lock").open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def save(index: Index, path: Path) -> None:
    """Writes the index, then puts it in the place of what was there: a reader finds the old file or the new one.

    Raises OSError when it cannot be written; what was there then still is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, since a rename is atomic only within one file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as stream:
            _write(index, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not every system lets a folder be synchronised
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def load(path: Path, *, model: str = "") -> Index:
    """Reads an index; ``model``, when given, must be the one that it was made with.

    Raises MissingIndexError, OtherModelError, or IndexFileError when the file is damaged or is not a catalogue at all.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            meta = _meta(path, archive)
            if model and meta["embedding_model"] != model:
                raise OtherModelError(
                    f"{path} was made with the embedding model {meta['embedding_model']}, in use is {model}: "
                    "run `headway catalogue build` to make it anew"
                )
            return _read(path, archive, meta)
    except FileNotFoundError as fault:
        raise MissingIndexError(f"{path}: there is no such file; run `headway catalogue build`") from fault
    except zipfile.BadZipFile as fault:
        raise _unusable(path, "is not a catalogue index, or is damaged", fault) from fault
    except OSError as fault:
        raise _unusable(path, "cannot be read", fault) from fault


def describe(path: Path) -> Mapping[str, Any]:
    """What ``meta.json`` says, without reading the rest. Raises like ``load``."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _meta(path, archive)
    except FileNotFoundError as fault:
        raise MissingIndexError(f"{path}: there is no such file; run `headway catalogue build`") from fault
    except (zipfile.BadZipFile, OSError) as fault:
        raise _unusable(path, "is not a catalogue index, or is damaged", fault) from fault


def _write(index: Index, stream: Any) -> None:
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "embedding_model": index.model,
        "dimensions": int(index.vectors.shape[1]) if index.vectors.ndim == 2 else 0,
        "records": len(index.records),
        "own": index.own,
        "domain": index.domain,
        "fingerprint": index.fingerprint,
        "graph": index.graph is not None,
    }
    vectors = io.BytesIO()
    np.save(vectors, index.vectors, allow_pickle=False)
    with zipfile.ZipFile(stream, "w", compression=zipfile.ZIP_STORED) as archive:
        archive.writestr(_META, orjson.dumps(meta, option=orjson.OPT_INDENT_2))
        archive.writestr(_RECORDS, b"\n".join(orjson.dumps(as_object(record)) for record in index.records))
        archive.writestr(_VECTORS, vectors.getbuffer())
        if index.graph is not None:
            archive.writestr(_GRAPH, faiss.serialize_index(index.graph).tobytes())


def _meta(path: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        meta = orjson.loads(archive.read(_META))
    except (KeyError, orjson.JSONDecodeError) as fault:
        raise _unusable(path, "is not a catalogue index", fault) from fault
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise _unusable(path, "is not a catalogue index", None)
    if meta.get("version") != VERSION:
        raise _unusable(path, f"has version {meta.get('version')}, this program reads version {VERSION}", None)
    wanted = {"embedding_model": str, "records": int, "own": int}
    if missing := [key for key, kind in wanted.items() if not isinstance(meta.get(key), kind)]:
        raise _unusable(path, f"does not say its {', '.join(missing)}", None)
    return meta


def _read(path: Path, archive: zipfile.ZipFile, meta: Mapping[str, Any]) -> Index:
    try:
        lines = archive.read(_RECORDS).split(b"\n")
        records = tuple(trusted(orjson.loads(line)) for line in lines if line)
        vectors: Vectors = np.load(io.BytesIO(archive.read(_VECTORS)), allow_pickle=False)
        graph = _graph(archive.read(_GRAPH)) if meta.get("graph") else None
    except zipfile.BadZipFile:
        raise
    except (KeyError, ValueError, TypeError, RuntimeError, EOFError) as fault:
        raise _unusable(path, "is damaged", fault) from fault
    whole = vectors.ndim == 2 and vectors.dtype == np.float32 and len(records) == len(vectors) == meta["records"]
    if not whole or (graph is not None and graph.ntotal != len(records)) or not 0 <= meta["own"] <= len(records):
        raise _unusable(path, "is damaged: its parts do not belong together", None)
    return Index(
        records=records,
        vectors=vectors,
        model=str(meta["embedding_model"]),
        domain=str(meta.get("domain", "")),
        fingerprint=str(meta.get("fingerprint", "")),
        own=int(meta["own"]),
        graph=graph,
    )


def _graph(data: bytes) -> Any:
    graph: Any = faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8))
    graph.hnsw.efSearch = GRAPH_SEARCH_BREADTH
    return graph


def _unusable(path: Path, what: str, fault: Exception | None) -> IndexFileError:
    why = f" ({fault})" if fault else ""
    return IndexFileError(f"{path} {what}{why}: move it away and run `headway catalogue build`")
