"""What a web search found, made harmless.

Decides what of a result is kept: plain text of bounded length and addresses of http and https. Which section a result
is for is decided by the words of the domain, and only where they speak for one section alone. Copies are left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from headway.catalogue.plaintext import plain
from headway.domain import DomainError

MAX_TITLE = 150
MAX_TEXT = 300
MAX_URL = 2000
_LATIN = re.compile(r"[a-z0-9]")
_WORD = re.compile(r"\w+")
_COUNTS_VISITS = re.compile(r"(?:utm_\w+|fbclid|gclid|ref|source)(?:=|$)")
_TELLING = 8
_COPIED = 0.8
"""Texts of at least so many different words with so large a share of them in common are copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """One page that was found. ``score`` is the provider's, or falls with the rank where it gives none."""

    url: str
    title: str
    text: str
    score: float


def result_from(url: object, title: object, text: object, score: object, rank: int) -> WebResult | None:
    """A result made harmless, or None when it has no usable address or title."""
    address = safe_url(url)
    heading = plain(title, MAX_TITLE) if isinstance(title, str) else ""
    if not address or not heading:
        return None
    number = float(score) if isinstance(score, int | float) and not isinstance(score, bool) else 1.0 / (rank + 1)
    return WebResult(
        url=address,
        title=heading,
        text=plain(text, MAX_TEXT) if isinstance(text, str) else "",
        score=number if 0.0 <= number <= 1e6 else 0.0,
    )


def safe_url(url: object) -> str:
    """The address if it is of http or https, has a host, no credentials and a bounded length; else an empty string."""
    if (
        not isinstance(url, str)
        or len(url) > MAX_URL
        or not re.fullmatch(r"https?://[^\s<>\"\\^`{|}\x00-\x1f\x7f]+", url)
    ):
        return ""
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.username is None and (parts.port is None or parts.port > 0)
    except ValueError:
        return ""
    return url if usable else ""


def distinct(results: Iterable[WebResult | None], count: int) -> tuple[WebResult, ...]:
    """The first ``count`` results, without those that say what one before them says."""
    kept: list[WebResult] = []
    for result in results:
        if result is not None and len(kept) < count and not any(_is_same(result, other) for other in kept):
            kept.append(result)
    return tuple(kept)


def _is_same(one: WebResult, other: WebResult) -> bool:
    """The same page under two addresses, two pages of one site with one title, or a text that was copied."""
    mine, theirs = _address(one.url), _address(other.url)
    if mine == theirs or (mine[0] == theirs[0] and one.title.casefold() == other.title.casefold()):
        return True
    words, others = _words(one), _words(other)
    return min(len(words), len(others)) >= _TELLING and len(words & others) >= _COPIED * len(words | others)


def _address(url: str) -> tuple[str, str, str]:
    """Host, path and query by which addresses of one page agree: neither scheme nor www nor what only counts visits."""
    parts = urlsplit(url)
    told = "&".join(sorted(each for each in parts.query.split("&") if each and not _COUNTS_VISITS.match(each)))
    return (parts.hostname or "").removeprefix("www."), parts.path.rstrip("/"), told


def _words(result: WebResult) -> frozenset[str]:
    return frozenset(_WORD.findall(result.text.casefold()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionWords:
    """Words by section that show what a page is about. Latin words count as whole words, others anywhere."""

    words: Mapping[str, tuple[str, ...]]

    def section_of(self, result: WebResult, sections: Sequence[str], query: str = "") -> str | None:
        """The one of ``sections`` that the title speaks for; empty when it speaks for none or several; None when the
        result is of no use, because it speaks for others alone, or not clearly where only some sections are asked for.

        The text is no witness: a page about routes mentions cafes as well. Nor is the query, which some titles echo.
        """
        title = " ".join(result.title.casefold().split()).replace(" ".join(query.casefold().split()) or "\0", " ")
        named = [name for name, words in self.words.items() if any(_occurs(word, title) for word in words)]
        if len(named) == 1:
            return named[0] if named[0] in sections else None
        useful = not named or not set(named).isdisjoint(sections)
        return "" if useful and set(self.words) <= set(sections) else None


def section_words(domain_root: Path) -> SectionWords:
    """Reads ``web.toml`` of a domain; a domain without that file has no such words. Raises DomainError."""
    path = domain_root / "web.toml"
    try:
        data: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        data = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise DomainError(f"{path}: {fault}") from fault
    table = data.get("sections", {})
    if not isinstance(table, Mapping) or not all(isinstance(words, list) for words in table.values()):
        raise DomainError(f"{path}: sections must be lists of words")
    return SectionWords(
        words=MappingProxyType({name: tuple(str(word).casefold() for word in words) for name, words in table.items()})
    )


def _occurs(word: str, text: str) -> bool:
    if not _LATIN.search(word):
        return word in text
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None
