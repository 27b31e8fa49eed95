"""How text gets onto a terminal: consoles, spans of time in words, and text of others made harmless.

Whatever comes from catalogues, the web, models or logs is data: it may hold neither markup nor control sequences by the
time it is printed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

PLAIN_WIDTH = 120
"""Columns where there is no terminal to ask."""
_DIRECTION_CHANGES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class OutputClosed(Exception):  # noqa: N818 - named for what is the case
    """Nobody reads what is printed any more, as after ``| head -1``."""


class QuietConsole(Console):
    """A console that tells its caller of a closed pipe; the hook is meant to be overridden."""

    def on_broken_pipe(self) -> None:
        raise OutputClosed


def console(stream: IO[str], *, width: int | None = None) -> Console:
    """A console on ``stream`` that takes no text for markup. ``width`` None: as the terminal says."""
    fixed = width if width is not None or stream.isatty() else PLAIN_WIDTH
    return QuietConsole(file=stream, width=fixed, markup=False, highlight=False, emoji=False)


def harmless(text: str) -> str:
    """``text`` on one line, without control characters and without changes of writing direction."""
    return "".join(
        " " if character in "\t\n\r\u2028\u2029" else character
        for character in text
        if character in "\t\n\r\u2028\u2029"
        or (unicodedata.category(character) not in ("Cc", "Cs") and character not in _DIRECTION_CHANGES)
    )


def milliseconds(seconds: float) -> str:
    """A span in whole milliseconds."""
    return f"{seconds * 1000:.0f} ms"


def words(parts: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def indented(text: Text, by: int) -> Padding:
    """A paragraph ``by`` columns from the left, also where it wraps."""
    return Padding(text, (0, 0, 0, by), expand=False)


@contextmanager
def working(to: Console, what: str) -> Iterator[None]:
    """Shows that something goes on: a spinner on a terminal, one line elsewhere."""
    if to.is_terminal:
        with to.status(Text(what)):
            yield
    else:
        to.print(what)
        yield
