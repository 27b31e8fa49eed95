"""Finds known phrases in a text, leftmost and longest first.

Decides what counts as a whole word in each script. Latin, Cyrillic and similar words must stand alone; katakana must
not be part of a longer katakana word; Korean phrases start where a word starts, because particles are glued to their
end (unless told otherwise); Han characters and hiragana may stand anywhere. Knows nothing of what the phrases mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(Generic[T]):
    """A phrase at ``start:end`` and everything that it stands for."""

    start: int
    end: int
    meanings: tuple[T, ...]


class Lexicon(Generic[T]):
    """Phrases in lower case with their meanings; immutable once built. Lookup is linear in the text."""

    def __init__(self, entries: Iterable[tuple[str, T]], *, korean_inside_words: bool = False) -> None:
        meanings: dict[str, list[T]] = defaultdict(list)
        for phrase, meaning in entries:
            if phrase and meaning not in meanings[phrase]:
                meanings[phrase].append(meaning)
        self._meanings = {phrase: tuple(found) for phrase, found in meanings.items() if found}
        lengths: dict[str, set[int]] = defaultdict(set)
        for phrase in self._meanings:
            lengths[phrase[:2]].add(len(phrase))
        self._lengths = {head: tuple(sorted(found, reverse=True)) for head, found in lengths.items()}
        self._korean_inside_words = korean_inside_words

    def __len__(self) -> int:
        return len(self._meanings)

    def __contains__(self, phrase: str) -> bool:
        return phrase in self._meanings

    def find(self, lower: str, accept: Callable[[Match[T]], bool] | None = None) -> Iterator[Match[T]]:
        """The matches in ``lower``, in order, none overlapping another; those that ``accept`` refuses give way to
        shorter ones."""
        at = 0
        while at < len(lower):
            match = next((each for each in self._starting(lower, at) if accept is None or accept(each)), None)
            if match is not None:
                yield match
            at = match.end if match is not None else at + 1

    def _starting(self, lower: str, at: int) -> Iterator[Match[T]]:
        """The phrases that start here, the longest first."""
        for length in (*self._lengths.get(lower[at : at + 2], ()), *self._lengths.get(lower[at], ())):
            end = at + length
            meanings = self._meanings.get(lower[at:end]) if end <= len(lower) else None
            if meanings and self._stands_alone(lower, at, end):
                yield Match(start=at, end=end, meanings=meanings)

    def _stands_alone(self, lower: str, start: int, end: int) -> bool:
        before = script(lower[start - 1]) if start else ""
        after = script(lower[end]) if end < len(lower) else ""
        first, last = script(lower[start]), script(lower[end - 1])
        if first == "hangul" and not self._korean_inside_words and before == "hangul":
            return False
        return not (first in _WHOLE and before == first) and not (last in _WHOLE and after == last)


_WHOLE = ("word", "katakana")


def script(char: str) -> str:
    """``hangul``, ``han``, ``hiragana``, ``katakana``, ``word`` (other letters and digits) or an empty string."""
    if char <= "\u024f":
        return "word" if char.isalnum() else ""
    if "\uac00" <= char <= "\ud7a3" or "\u1100" <= char <= "\u11ff" or "\u3130" <= char <= "\u318f":
        return "hangul"
    if "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" or char == "々":
        return "han"
    if "\u3040" <= char <= "\u309f":
        return "hiragana"
    if "\u30a0" <= char <= "\u30ff":
        return "" if char == "・" else "katakana"
    return "word" if char.isalnum() else ""
