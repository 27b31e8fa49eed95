"""A query as the slot finders see it, and what they find in it.

Decides how a query is cleaned before anything is looked for. Knows no slot.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from headway.slots import Slot

MAX_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Text:
    """A cleaned query: ``shown`` as written, ``lower`` in lower case, character by character the same length."""

    shown: str
    lower: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A slot and the part of the text that said it, for order and overlap.

    ``plain`` words say a value and nothing else (Tokyo, 3박4일, under $200): without them the text asks for the same
    kind of thing. A ``whole`` place is no part of another.
    """

    start: int
    end: int
    slot: Slot
    plain: bool = False
    whole: bool = False


def clean(query: str) -> Text:
    """The query in compatibility form, without control and format characters, with single spaces, cut at MAX_CHARS."""
    folded = unicodedata.normalize("NFKC", query[:MAX_CHARS])
    kept = "".join(_kept(char) for char in folded)
    shown = " ".join(kept.split())[:MAX_CHARS].rstrip()
    # str.lower may change the length of a text, which would shift every position.
    lower = "".join(small if len(small := char.lower()) == 1 else char for char in shown)
    return Text(shown, lower)


def blank(text: Text, spans: Iterable[tuple[int, int]]) -> Text:
    """The text with those spans replaced by spaces, so that they are not seen again and nothing moves."""
    lower = list(text.lower)
    for start, end in spans:
        lower[start:end] = " " * (end - start)
    return Text(text.shown, "".join(lower))


def overlaps(start: int, end: int, others: Iterable[Found]) -> bool:
    """True when the span shares a character with one of ``others``."""
    return any(start < other.end and other.start < end for other in others)


def _kept(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Cf", "Cs", "Co", "Cn"):
        return ""
    return " " if category in ("Cc", "Zl", "Zp", "Zs") else char
