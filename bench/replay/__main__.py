"""Puts recorded answers of real services through the adapters, cut in every way.

    python -m bench.replay PATH [--seed 1] [--quick]

PATH is a folder of recordings (see ``bench.replay.recordings`` for where the public gets them); without it, or where
it holds none, nothing is done and that is said. Writes ``bench/results/replay.json``, which holds counts and no text of
anybody's; the exit code is 1 when anything did not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

from bench.machine import facts
from bench.replay import broken_items, checks, reading, recordings
from bench.replay.checks import Findings
from bench.replay.server import replaying

RESULT = Path(__file__).parents[1] / "results" / "replay.json"


async def replay(folder: Path, *, seed: int, further: int) -> dict[str, Findings]:
    """All checks, by name."""
    rng = random.Random(seed)
    found = recordings.streams(folder)
    texts = [
        (await reading.decoded(each.protocol, [each.body], each.headers)).text or each.body.decode("utf-8", "replace")
        for each in found
    ]
    results = {"pieces": await checks.read_in_pieces(found, rng=rng, further=further)}
    results["texts"] = broken_items.cut_texts(texts, rng=rng, further=further)
    results["broken_items"] = broken_items.recover(recordings.rows(folder, "malformed_json"))
    results["usage"] = await checks.add_up(recordings.rows(folder, "usage_objects"))
    async with replaying() as server, reading.providers(server.url) as providers:
        results["http"] = await checks.read_over_http(found, server, providers, rng=rng)
        results["errors"] = await checks.name_errors(recordings.errors(folder), server, providers)
        waits = recordings.rows(folder, "retry_after_on_200")
        results["retry_after_on_success"] = await checks.ignore_waits(waits, server, providers)
        results["web_search"] = await checks.search(recordings.searches(folder), server)
    return results


def main() -> int:
    """Replays, prints and writes."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description="Replay recorded answers.")
    parser.add_argument("path", type=Path, nargs="?", help="folder of recordings")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="fewer random cuts in long streams")
    asked = parser.parse_args()
    if asked.path is None or not checks.folder_has_anything(asked.path):
        print(f"skipped: no recordings{'' if asked.path is None else f' in {asked.path}'}.\n{recordings.ORIGIN}")
        return 0
    results = asyncio.run(replay(asked.path, seed=asked.seed, further=50 if asked.quick else 500))
    _write(results, seed=asked.seed)
    for name, findings in results.items():
        counts = ", ".join(f"{count} {what}" for what, count in sorted(findings.counts.items()))
        print(f"{name}: {counts or 'nothing to replay'}")
        print("".join(f"  FAULT {fault}\n" for fault in findings.faults[:20]), end="")
    faults = sum(len(findings.faults) for findings in results.values())
    print(f"{faults} faults; written to {RESULT.relative_to(Path(__file__).parents[2])}")
    return 1 if faults else 0


def _write(results: dict[str, Findings], *, seed: int) -> None:
    document: dict[str, Any] = facts("bench.replay", ["PATH"]) | {"seed": seed}
    document |= {name: findings.as_json() for name, findings in results.items()}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
