"""Names of what a domain's catalogue holds, each of which says to which city a query goes: 성산일출봉, Eiffel Tower.

Decides which of these names are safe to look for: long ones, borne in one city only, without what is said in brackets.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from headway.domain import DomainError

_BRACKETS = re.compile(r"\s*[(（\[].*$")
_WORD = re.compile(r"[A-Za-zÀ-ÿ]{2,}")
_LEAST_CJK, _LEAST_LATIN = 3, 8


def landmarks(domain_root: Path) -> Iterator[tuple[str, str]]:
    """(name in lower case, slug of its city) out of ``catalogue/*.jsonl``. Raises DomainError for a file that is not
    one."""
    cities: dict[str, set[str]] = defaultdict(set)
    for path in sorted((domain_root / "catalogue").glob("*.jsonl")):
        try:
            for line in filter(str.strip, path.read_text(encoding="utf-8").splitlines()):
                record = json.loads(line)
                for name in record["names"].values():
                    cities[_BRACKETS.sub("", name).strip().lower()].add(record["city"])
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise DomainError(f"{path}: not a catalogue of records: {fault!r}") from fault
    for name, found in cities.items():
        if len(found) == 1 and _is_telling(name):
            yield name, next(iter(found))


def _is_telling(name: str) -> bool:
    if name.isascii() or _WORD.fullmatch(name):
        return len(name) >= _LEAST_LATIN and " " in name
    return len(name) >= _LEAST_CJK
