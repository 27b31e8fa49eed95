"""The rung without a provider: items written from records alone.

Decides the sentences, from phrases that the domain brings (``floor.toml``) in its languages. Needs no network and
no model and takes microseconds an item, so it always fits. Invents nothing: a body is what the record says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from headway.plain_text import plain
from headway.records import Draft, Record

TITLE_CHARS = 120
BODY_CHARS = 400
FALLBACK_LANGUAGE = "en"
PHRASES_FILE = "floor.toml"
"""Name of the phrases' file in the folder of a domain."""


class PhrasesError(ValueError):
    """The floor's phrases cannot be used; the message names the file and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Sentences of one language. ``where`` holds ``{address}``; ``reasons`` are taken in turn, the first one for
    the best record."""

    where: str
    reasons: tuple[str, ...]


BUILT_IN: Mapping[str, Phrases] = MappingProxyType(
    {
        "en": Phrases(
            where="Found in {address}.",
            reasons=("The closest match to your request.", "One of the matches for your request."),
        )
    }
)


def load(path: Path) -> Mapping[str, Phrases]:
    """The phrases of a domain by language; the built-in English ones when it brings none. Raises PhrasesError."""
    if not path.exists():
        return BUILT_IN
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        found = {
            language: Phrases(where=str(each["where"]), reasons=tuple(map(str, each["reasons"])))
            for language, each in data.items()
        }
        for each in found.values():
            each.where.format(address="")
    except (OSError, ValueError, KeyError, TypeError, IndexError) as fault:
        raise PhrasesError(f"{path}: {fault!r}") from fault
    if empty := [language for language, each in found.items() if not each.reasons]:
        raise PhrasesError(f"{path}: no reasons for {', '.join(empty)}")
    return MappingProxyType({**BUILT_IN, **found})


def write(
    records: Iterable[Record], *, count: int, language: str, given: Iterable[str], phrases: Mapping[str, Phrases]
) -> list[Draft]:
    """Up to ``count`` drafts about the best records that are not ``given``, in order."""
    words = phrases.get(language) or phrases.get(FALLBACK_LANGUAGE) or BUILT_IN[FALLBACK_LANGUAGE]
    seen, drafts = set(given), list[Draft]()
    for record in records:
        if len(drafts) >= count:
            break
        if record.id in seen or not record.name.strip():
            continue
        seen.add(record.id)
        place_in_turn = 0 if not drafts and not given else 1 + len(drafts) % max(1, len(words.reasons) - 1)
        drafts.append(
            Draft(
                title=plain(record.name, TITLE_CHARS),
                body=_body(record, words),
                reason=words.reasons[place_in_turn % len(words.reasons)],
                sources=(record.id,),
            )
        )
    return drafts


def _body(record: Record, words: Phrases) -> str:
    if told := plain(record.description or record.facts, BODY_CHARS):
        return told
    return words.where.format(address=plain(record.address, TITLE_CHARS)) if record.address else ""
