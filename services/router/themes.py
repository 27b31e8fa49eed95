"""What the trip is about, in the words of the domain's ``tags.toml``: 바다, museums, 温泉.

Decides which tags a query asks for or rules out. The words are the domain's.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.domain import Tag
from headway.slots import Slot
from services.router import negation
from services.router.found import Found
from services.router.lexicon import Lexicon

_MOST_THEMES = 16


class ThemeFinder:
    """Finds the slot ``theme``; the value is the tag's name."""

    def __init__(self, tags: Mapping[str, Tag]) -> None:
        entries = ((word, name) for name, tag in tags.items() for word in tag.words)
        self._lexicon = Lexicon(entries, korean_inside_words=True)

    def find(self, shown: str, lower: str) -> list[Found]:
        """The themes in the order of the text, each at most once for wanted and once for excluded."""
        spans = [
            Found(
                start=match.start,
                end=match.end,
                slot=Slot(name="theme", value=name, text=shown[match.start : match.end]),
            )
            for match in self._lexicon.find(lower)
            for name in match.meanings
        ]
        seen: dict[tuple[str, int], Found] = {}
        for each in _marked(spans, lower):
            seen.setdefault((each.slot.value, each.slot.relation.value), each)
        return list(seen.values())[:_MOST_THEMES]


def _marked(spans: list[Found], lower: str) -> list[Found]:
    """Marks exclusions word by word: a word that stands for two themes is one word."""
    words: dict[int, Found] = {}
    for each in spans:
        words.setdefault(each.start, each)
    relations = {each.start: each.slot.relation for each in negation.mark(list(words.values()), lower)}
    return [
        Found(
            start=each.start,
            end=each.end,
            slot=Slot(name="theme", value=each.slot.value, text=each.slot.text, relation=relations[each.start]),
        )
        for each in spans
    ]
