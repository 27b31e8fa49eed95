"""Says on what a measurement was made: processor, cores, versions, date. Decides nothing."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("grpcio", "protobuf", "anthropic", "openai", "uvloop", "onnxruntime", "faiss-cpu")


def facts(module: str, arguments: Sequence[str]) -> dict[str, Any]:
    """What every result begins with: the command, when it was run, and the machine it ran on."""
    return {
        "command": " ".join(["python", "-m", module, *map(shlex.quote, arguments)]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": _processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "system": platform.platform(terse=True),
            "python": platform.python_version(),
            "packages": {
                name: version(name) for name in PACKAGES if not (name == "uvloop" and sys.platform == "win32")
            },
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
