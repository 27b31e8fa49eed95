"""Decides how many tokens a text is and where its tokens end; refuses to know any vendor's vocabulary.

The counts are estimates on purpose: every vendor counts differently, and a caller that depends on an exact number
is wrong.
"""

from __future__ import annotations

import re

BYTES_PER_TOKEN = 4
"""UTF-8 bytes of one token: four Latin letters, or one and a third Chinese, Japanese or Korean characters."""

_PIECE = re.compile(r" ?[^\x00-\x7f]{1,3}| ?[A-Za-z]{1,7}|[0-9]{1,3}| ?[^\w\s]{1,3}|\s+|.", re.DOTALL)


def count(size_bytes: int) -> int:
    """Tokens of a text of `size_bytes` UTF-8 bytes; 0 for an empty one."""
    return -(-size_bytes // BYTES_PER_TOKEN)


def count_text(text: str) -> int:
    """Tokens of `text`, by its UTF-8 size."""
    return count(len(text.encode()))


def pieces(text: str) -> list[str]:
    """`text` cut into token-sized pieces; joined again they are `text`."""
    found: list[str] = []
    for piece in _PIECE.findall(text):
        if len(piece) > 1 and piece[-1] > "\x7f":
            # Runs of three wide characters become two and one, so that the mean is the one and a half a real
            # vocabulary has.
            cut = 2 if len(piece) > 2 else 1
            found.append(piece[:cut])
            found.append(piece[cut:])
        else:
            found.append(piece)
    return found
