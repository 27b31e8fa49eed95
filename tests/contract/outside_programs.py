"""Programs that are not ours, run to their end and read."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.testing import PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a program left behind: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    def documents(self) -> list[Any]:
        """The JSON documents of the output, one after the other."""
        return list(_documents(self.out))


def finished(*command: str, within: float = 60.0, cwd: Path | None = None) -> Finished:
    """Runs a program; for tests in whose event loop nothing has to go on meanwhile."""
    run = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=within * PATIENCE, cwd=cwd, check=False
    )
    return Finished(code=run.returncode, out=run.stdout, err=run.stderr)


async def ran(*command: str, within: float = 30.0) -> Finished:
    """Runs a program while the event loop serves it."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(within * PATIENCE):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Finished(code=process.returncode, out=out.decode(), err=err.decode())


def _documents(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    rest = text.lstrip()
    while rest:
        document, end = decoder.raw_decode(rest)
        yield document
        rest = rest[end:].lstrip()
