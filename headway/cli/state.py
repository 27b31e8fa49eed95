"""What is known of the mesh that runs here: one file, and a lock that only a living ``headway up`` holds.

The lock decides whether a mesh runs, because the system drops it with its holder; a process id in a file may by now
belong to somebody else. Starts and stops nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

_TRIES = 5
_TRY_AGAIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshState:
    """A mesh: ``pid`` of its ``headway up``, ``phase`` ("starting", "ready" or "stopping"), where to call it, whether
    simulators answer, and address and process id of each part by name.
    """

    pid: int
    phase: str
    orchestrator: str
    simulated: bool
    addresses: Mapping[str, str] = field(default_factory=dict)
    pids: Mapping[str, int] = field(default_factory=dict)


class AlreadyRunning(Exception):  # noqa: N818 - named for what is the case
    """Another ``headway up`` holds the folder; ``state`` is what it says of itself, None when it says nothing yet."""

    def __init__(self, state: MeshState | None) -> None:
        super().__init__("a mesh is running already")
        self.state = state


class Claim:
    """The right to run a mesh with this folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "mesh.json"

    def publish(self, state: MeshState) -> None:
        """Replaces what others read, in one step. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._file.with_name(f".mesh.json.{os.getpid()}")
        unfinished.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
        unfinished.replace(self._file)

    def withdraw(self) -> None:
        self._file.unlink(missing_ok=True)


@contextmanager
def claimed(folder: Path) -> Iterator[Claim]:
    """Takes the folder for a mesh until the block is left. Raises AlreadyRunning, and OSError when it cannot be
    written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "mesh.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        # Whoever asks whether a mesh runs holds the lock for an instant, so one refusal proves nothing.
        if not any(_locked(lock, wait=number > 0) for number in range(_TRIES)):
            raise AlreadyRunning(_read(folder))
        claim = Claim(folder)
        try:
            yield claim
        finally:
            claim.withdraw()
    finally:
        os.close(lock)


def running(folder: Path) -> MeshState | None:
    """The mesh that runs with this folder, or None."""
    if not is_claimed(folder):
        return None
    return _read(folder)


def is_claimed(folder: Path) -> bool:
    """Whether a living ``headway up`` holds the folder."""
    try:
        lock = os.open(folder / "mesh.lock", os.O_RDWR)
    except OSError:
        return False
    try:
        return not _locked(lock, wait=False)
    finally:
        os.close(lock)


def _locked(lock: int, *, wait: bool) -> bool:
    if wait:
        time.sleep(_TRY_AGAIN)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(folder: Path) -> MeshState | None:
    try:
        data = json.loads((folder / "mesh.json").read_text(encoding="utf-8"))
        return MeshState(**data)
    except (OSError, ValueError, TypeError):
        return None
