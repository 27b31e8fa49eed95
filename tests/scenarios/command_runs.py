"""The ``headway`` command as real processes, with ports chosen by the system and a state folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.testing import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("router", "retrieval", "generator", "orchestrator", "simulators")
LONGEST = 100 * PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def events(self) -> list[dict[str, Any]]:
        """What ``ask --json`` printed."""
        return [json.loads(line) for line in self.out.splitlines()]

    def items(self) -> list[dict[str, Any]]:
        return [event["item"] for event in self.events() if "item" in event]


class Commands:
    """Runs commands that share one state folder."""

    def __init__(self, state: Path, **environment: str) -> None:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("HEADWAY_") and not name.endswith("_API_KEY")
        }
        listens = {f"HEADWAY_{part.upper()}_LISTEN": "127.0.0.1:0" for part in PARTS}
        self.state = state
        self.environment = clean | listens | {"HEADWAY_STATE": str(state), "PYTHONIOENCODING": "utf-8"} | environment

    def run(self, *arguments: str, **environment: str) -> Ran:
        """Runs a command to its end."""
        process = subprocess.run(
            self._command(arguments),
            cwd=ROOT,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
        return Ran(code=process.returncode, out=process.stdout, err=process.stderr)

    @contextmanager
    def started(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """Starts a command; it is killed when the test leaves it running."""
        process = subprocess.Popen(
            self._command(arguments),
            cwd=ROOT,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def ask(self, query: str, *arguments: str) -> Ran:
        """Asks the mesh that runs with the state folder."""
        return self.run("ask", query, "--json", *arguments)

    def mesh(self) -> dict[str, Any]:
        """What the running mesh publishes of itself."""
        published: dict[str, Any] = json.loads((self.state / "mesh.json").read_text(encoding="utf-8"))
        return published

    def phase(self) -> str:
        """Phase of the mesh that runs, or an empty string when none does."""
        try:
            return str(self.mesh()["phase"])
        except FileNotFoundError:
            return ""

    @contextmanager
    def running_mesh(self, *arguments: str, **environment: str) -> Iterator[None]:
        """A mesh in the background for the length of the block."""
        start = self.run("up", "--detach", *arguments, **environment)
        assert start.code == 0, start.out + start.err
        try:
            yield
        finally:
            stop = self.run("down")
            assert stop.code == 0, stop.out + stop.err

    @staticmethod
    def _command(arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "headway.cli", *arguments]


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
        # One that has ended but was not waited for yet still has its number.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
