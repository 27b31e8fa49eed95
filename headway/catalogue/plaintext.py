"""Text from outside as plain text of bounded length.

Decides what may stay in a name, a description or a search result: no markup, no control or direction characters, no
line breaks, no more than so many characters. Such text is data; nothing here reads meaning into it.
"""

from __future__ import annotations

import html
import re
import unicodedata

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,400}>|<!--.{0,2000}?-->", re.DOTALL)
_SPACES = re.compile(r"\s+")
# Format and private characters hide or reorder text; surrogates cannot be encoded. Joiners are kept: some scripts and
# emoji need them to be spelled at all.
_UNWANTED = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_KEPT = frozenset("\u200c\u200d")
_BREAKS = (". ", "! ", "? ", "。", "．", "！", "？", "다. ", "요. ")


def plain(text: str, limit: int = 2000) -> str:
    """One line of plain text without markup and control characters, at most ``limit`` characters."""
    # Cut early as well: the work must not grow with what a stranger sends.
    text = text[: limit * 20 + 2000]
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    text = "".join(map(_allowed, unicodedata.normalize("NFC", text)))
    return shorten(_SPACES.sub(" ", text).strip(), limit)


def shorten(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters: cut after a sentence, else after a word, else anywhere, then with an
    ellipsis."""
    if len(text) <= limit:
        return text
    if limit < 2:
        return text[: max(0, limit)]
    head = text[:limit]
    sentence = max(head.rfind(mark) + len(mark.rstrip()) if mark in head else 0 for mark in _BREAKS)
    if sentence >= limit // 2:
        return head[:sentence]
    word = text.rfind(" ", limit // 2, limit)
    return text[: word if word > 0 else limit - 1].rstrip() + "…"


def _allowed(character: str) -> str:
    if character in "\t\n\r" or character.isspace():
        return " "
    if unicodedata.category(character) in _UNWANTED and character not in _KEPT:
        return ""
    return character
