"""Log files of child processes: rotated at a start and when they grow, read while they are written.

Children write to the files themselves, so that neither a slow terminal nor a dead parent holds them up. Decides which
lines a person should see.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

KEPT = 3
"""Older files kept for each child."""
LARGEST_BYTES = 64 * 1024 * 1024
"""A file that has grown to this size is set aside while its child runs on."""
MOST_AT_ONCE_BYTES = 1 << 20
"""Read in one go; a child that logs faster than it is read loses the display of its lines, never the lines."""
_TAIL_BYTES = 16 * 1024
_NO_NEWS = {"event", "level", "timestamp", "service", "request_id"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A log line that a person should see. ``event`` is its first words as they were logged, ``missing`` what a part
    that is not ready says it lacks.
    """

    level: str
    event: str
    text: str
    missing: str = ""


def rotate(path: Path) -> None:
    """Renames ``path`` to ``path.1``, ``path.1`` to ``path.2`` and so on; the oldest is dropped."""
    for number in range(KEPT, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        newer = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        if newer.exists():
            newer.replace(older)


class LogFile:
    """The log of one child. ``open`` it for every life of the child, ``new_lines`` follows what is written."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        rotate(path)
        self.path = path
        self._position = 0
        self._rest = b""

    def open(self) -> IO[bytes]:
        """For a child to append to; made anew when somebody removed it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self.path.open("ab", buffering=0)

    def new_lines(self) -> list[str]:
        """The lines that were finished since the last call."""
        size = self.size()
        if size == self._position or not self.path.exists():
            return []
        with self.path.open("rb") as source:
            if size < self._position:
                self._position, self._rest = 0, b""
            if size - self._position > MOST_AT_ONCE_BYTES:
                self._position, self._rest = size - MOST_AT_ONCE_BYTES, b""
            source.seek(self._position)
            data = source.read(MOST_AT_ONCE_BYTES)
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if size > LARGEST_BYTES:
            self._set_aside()
        return [line.decode("utf-8", "replace") for line in lines]

    def last(self, count: int, *, since: int = 0) -> list[str]:
        """The last lines, readable for a person, of what was written from byte ``since`` on."""
        size = self.size()
        if not size:
            return []
        with self.path.open("rb") as source:
            source.seek(max(since if since <= size else 0, size - _TAIL_BYTES))
            lines = source.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
        return [readable(line) for line in lines if line.strip()][-count:]

    def size(self) -> int:
        """Bytes so far; none when somebody removed the file."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def _set_aside(self) -> None:
        # The child keeps its descriptor, so its file is copied and emptied; appending goes on at the new end.
        shutil.copyfile(self.path, self.path.with_name(self.path.name + ".1"))
        os.truncate(self.path, 0)
        self._position, self._rest = 0, b""


def remarks(lines: Sequence[str]) -> list[Remark]:
    """The warnings and errors among log lines."""
    return [found for found in map(_remark, lines) if found is not None]


def readable(line: str) -> str:
    """A log line for a person: the event and its facts of a structured one, any other line as it is."""
    entry = _structured(line)
    if entry is None:
        return line
    facts = [f"{name}={value}" for name, value in entry.items() if name not in _NO_NEWS and name != "exception"]
    text = " ".join([str(entry.get("event", "")), *facts])
    # Of a traceback the last line says what happened; the file has the rest.
    trace = str(entry.get("exception", "")).strip().splitlines()
    return f"{text}: {trace[-1]}" if trace else text


def _remark(line: str) -> Remark | None:
    entry = _structured(line)
    if entry is not None:
        level = str(entry.get("level", ""))
        if level not in ("warning", "error", "critical"):
            return None
        missing = str(entry.get("missing", ""))
        return Remark(level=level, event=str(entry.get("event", "")), text=readable(line), missing=missing)
    for level in ("warning", "error", "critical"):
        # As the log format for terminals marks them.
        if f"[{level}" in line:
            return Remark(level=level, event="", text=line)
    return None


def _structured(line: str) -> dict[str, object] | None:
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
