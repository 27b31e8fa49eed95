"""Broken JSON as models write it, through the parser of items, against what was meant.

Decides what counts: an item is right when it is what was meant, wrong when it is anything else and its schema lets it
pass, else dropped. Texts of streams are cut at every character as well.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.replay.checks import Findings, cuts
from services.generator.item_stream import ItemStream
from services.generator.repair import Repair, repair_of
from services.generator.schema_check import compiled

KINDS: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
ITEM_SCHEMA = Path(__file__).parents[2] / "domains" / "travel" / "item.schema.json"


def recover(rows: Sequence[Mapping[str, Any]]) -> Findings:
    """Every case that means items: with the repair and without it, whole and cut at every character."""
    findings = Findings()
    slowest = 0.0
    for number, row in enumerate(rows):
        meant = _meant(row["expected"])
        if meant is None:
            findings.counts["means_no_items"] += 1
            continue
        schema = _schema(meant)
        findings.counts["cases"] += 1
        for name, repair in (("strict", None), ("repaired", repair_of(schema))):
            started = time.perf_counter()
            whole = _read(row["input"], [], schema, repair)
            slowest = max(slowest, time.perf_counter() - started)
            kind = "right" if whole == meant else "dropped" if all(item in meant for item in whole) else "wrong"
            findings.counts[f"{name}.{kind}"] += 1
            findings.check(holds=kind != "wrong", fault=f"case {number} ({name}): taken for something else")
            same = all(_read(row["input"], [at], schema, repair) == whole for at in range(1, len(row["input"])))
            findings.check(holds=same, fault=f"case {number} ({name}): depends on how it is cut")
    findings.counts["slowest_us"] = round(slowest * 1e6)
    return findings


def cut_texts(texts: Iterable[str], *, rng: random.Random, further: int) -> Findings:
    """Texts of any kind, cut anywhere: the same items and the same counts."""
    schema = json.loads(ITEM_SCHEMA.read_text(encoding="utf-8"))
    repair = repair_of(schema)
    findings = Findings()
    for text in dict.fromkeys(texts):
        whole = _parsed(text, [], tuple(schema["properties"]), repair)
        findings.counts["texts"] += 1
        findings.counts["objects"] += len(whole[0])
        for at in cuts(len(text), rng=rng, further=further):
            findings.counts["cuts"] += 1
            if _parsed(text, [at], tuple(schema["properties"]), repair) != whole:
                findings.faults.append(f"a text of {len(text)} characters: cut after {at}")
                break
    return findings


def _read(text: str, borders: Sequence[int], schema: Mapping[str, Any], repair: Repair | None) -> list[Any]:
    check = compiled(schema)
    return [item for item in _parsed(text, borders, tuple(schema["properties"]), repair)[0] if not check(item)]


def _parsed(
    text: str, borders: Sequence[int], fields: Sequence[str], repair: Repair | None
) -> tuple[list[Any], int, int, int]:
    stream = ItemStream(fields=fields, repair=repair)
    items: list[Any] = []
    for start, end in zip([0, *borders], [*borders, len(text)], strict=True):
        items += stream.feed(text[start:end])
    items += stream.close()
    return items, stream.repaired, stream.malformed, stream.truncated


def _meant(expected: Any) -> list[dict[str, Any]] | None:
    """The items that were meant, or None when it was something else."""
    if isinstance(expected, str):
        try:
            expected = json.loads(expected)
        except ValueError:
            return None
    items = [expected] if isinstance(expected, dict) else expected
    if not isinstance(items, list) or not items:
        return None
    return items if all(isinstance(item, dict) and item for item in items) else None


def _schema(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The narrowest schema that all of them follow."""
    names = dict.fromkeys(name for item in items for name in item)
    kinds = {name: next(KINDS.get(type(item[name]), "null") for item in items if name in item) for name in names}
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": [name for name in names if all(name in item for item in items)],
        "additionalProperties": False,
    }
