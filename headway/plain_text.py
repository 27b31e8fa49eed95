"""Text of models and records made plain: one line without markup or characters that are not text, of bounded length.

Decides what is taken out. Knows nothing of items.
"""

from __future__ import annotations

import re

# Anything that needs work; most texts have none of it.
_UNUSUAL = re.compile(
    "[\x00-\x1f\x7f-\x9f<*_\\[\\]#\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]|  "
)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\((?:[^()\s]{0,2000})\)")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1")
_HEADING = re.compile(r"^\s*#{1,6}\s+")
_SPACES = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")
_SENTENCE_END = re.compile(r"[.!?。！？…](?=\s|$)|[。！？]")


def plain(text: str, limit: int) -> str:
    """The text in one line without tags, links, bold marks, control and direction characters, at most ``limit``
    characters: cut after a sentence where there is one in the second half, else with an ellipsis. Halves of surrogate
    pairs are joined, those without their other half become U+FFFD.
    """
    if _UNUSUAL.search(text):
        text = _without_markup(text)
    text = text.strip()
    return text if len(text) <= limit else _cut(text, limit)


def _without_markup(text: str) -> str:
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _TAG.sub(" ", _LINK.sub(r"\1", text))
    text = _HEADING.sub("", _BOLD.sub(r"\2", text))
    return _SPACES.sub(" ", _INVISIBLE.sub("", text))


def _cut(text: str, limit: int) -> str:
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, limit)]
    if ends and ends[-1] > limit // 2:
        return text[: ends[-1]].rstrip()
    kept = text[: limit - 1]
    space = kept.rfind(" ")
    return (kept[:space] if space > limit // 2 else kept).rstrip() + "…"
