"""Where a broken element of a model's answer ends, so that it can be repaired as a whole.

Decides which piece of text is worth a try: from the element's first brace to the first closing one that evens the
braces out and is followed by what may follow an element. Watches beside the parser, which goes on meanwhile as if the
element were lost: a whole element that the parser finds first ends the watch. Bounded in text, tries and elements;
does not know how an element is repaired.
"""

from __future__ import annotations

from typing import Any

from services.generator.repair import LONGEST_CHARS, Repair

MOST_OPEN = 4
MOST_TRIES = 3
_AFTER = frozenset(",]{\n`")


class _Damage:
    """One broken element. ``malformed`` is the parser's count before it."""

    __slots__ = ("chars", "depth", "malformed", "may_end", "parts", "tries")

    def __init__(self, text: str, depth: int, malformed: int) -> None:
        self.parts = [text]
        self.chars = len(text)
        self.depth = depth
        self.malformed = malformed
        self.tries = 0
        self.may_end = False


class Mending:
    """Watches over the broken elements that may still be repaired. ``malformed`` after a repair: what the parser's
    count was before the element."""

    __slots__ = ("_open", "_repair", "malformed")

    def __init__(self, repair: Repair) -> None:
        self._repair = repair
        self._open: list[_Damage] = []
        self.malformed = 0

    @property
    def watches(self) -> bool:
        """Whether any broken element is open."""
        return bool(self._open)

    def began(self, text: str, *, depth: int, malformed: int) -> None:
        """An element broke after ``text``, within so many braces."""
        if len(self._open) >= MOST_OPEN:
            del self._open[0]
        self._open.append(_Damage(text, depth, malformed))

    def forget(self) -> None:
        """What was broken is given up."""
        self._open.clear()

    def saw(self, text: str) -> None:
        """More text; a closing brace stands at its end, or it has none."""
        closes = text.endswith("}")
        for damage in self._open:
            damage.parts.append(text)
            damage.chars += len(text)
            damage.depth += text.count("{") - closes
            if closes and damage.depth <= 0:
                damage.may_end = True
                damage.tries += 1
        self._open = [each for each in self._open if each.chars <= LONGEST_CHARS and each.tries <= MOST_TRIES]

    def next(self, text: str, start: int) -> dict[str, Any] | None:
        """The repaired element, when what follows in the text shows that it has ended; None when it does not, or not
        yet."""
        if not any(damage.may_end for damage in self._open):
            return None
        after = text[start:].lstrip(" \t\r")
        return self._tried(ended=after[0] in _AFTER) if after else None

    def whole(self, text: str) -> dict[str, Any] | None:
        """The repaired element whose text is known to be whole."""
        return self._repair(text)

    def last(self) -> dict[str, Any] | None:
        """The repaired element that the end of the text ends."""
        return self._tried(ended=True)

    def _tried(self, *, ended: bool) -> dict[str, Any] | None:
        for damage in self._open:
            if damage.may_end and ended:
                item = self._repair("".join(damage.parts).rstrip())
                if item is not None:
                    self.malformed = damage.malformed
                    self._open.clear()
                    return item
            damage.may_end = False
        return None
