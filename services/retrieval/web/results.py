"""What a web search found, made harmless.

Decides what of a result is kept: plain text of bounded length and addresses of http and https. Which section a result
is for is decided by the words of the domain, and only where they speak for one section alone.
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
    """The first ``count`` results with different addresses."""
    kept: dict[str, WebResult] = {}
    for result in results:
        if result is not None and len(kept) < count:
            kept.setdefault(result.url, result)
    return tuple(kept.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionWords:
    """Words by section that show what a page is about. Latin words count as whole words, others anywhere."""

    words: Mapping[str, tuple[str, ...]]

    def section_of(self, result: WebResult, sections: Sequence[str], query: str = "") -> str:
        """The one section that the title speaks for; empty when it is none or more than one.

        The text is no witness: a page about routes mentions cafes as well. Nor are words of the query: titles echo it.
        """
        title, asked = result.title.casefold(), query.casefold()
        named = [section for section in sections if self._speaks_for(section, title, asked)]
        return named[0] if len(named) == 1 else ""

    def _speaks_for(self, section: str, title: str, asked: str) -> bool:
        return any(_occurs(word, title) and not _occurs(word, asked) for word in self.words.get(section, ()))


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
