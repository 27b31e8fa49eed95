"""What is asked, and what can be told of a query from its words alone.

Decides the language and whether a query is simple. Refuses to know models.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.domain import Domain

QUERIES = Path(__file__).parent.parent / "queries.toml"
SIMPLE_CHARS = 60
_SEVERAL_WISHES = re.compile(r"[,、，;]")
MOST_WISHES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One request: its words, the sections wanted and how many items over all of them."""

    text: str
    sections: tuple[str, ...]
    count: int

    @property
    def language(self) -> str:
        """`ko`, `ja` or `en`, by the script."""
        if re.search(r"[가-힣]", self.text):
            return "ko"
        return "ja" if re.search(r"[ぁ-ヿ一-龯]", self.text) else "en"

    @property
    def is_simple(self) -> bool:
        """Whether a small model will do: a short query with few wishes."""
        return len(self.text) <= SIMPLE_CHARS and len(_SEVERAL_WISHES.findall(self.text)) < MOST_WISHES

    def shares(self) -> dict[str, int]:
        """Items for each section, as evenly as possible, earlier sections first; sections that get none are left
        out."""
        share, surplus = divmod(self.count, len(self.sections))
        counts = {section: share + (place < surplus) for place, section in enumerate(self.sections)}
        return {section: count for section, count in counts.items() if count}


def load(domain: Domain, *, count: int, path: Path = QUERIES) -> Sequence[Query]:
    """The queries of the file. Raises ValueError naming what is wrong with it, and OSError."""
    known = domain.section_names()
    queries = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("query", ()):
        sections = tuple(entry.get("sections", known))
        if not entry.get("text") or not sections or not set(sections) <= set(known):
            raise ValueError(f"{path}: a query needs a text and sections out of {', '.join(known)}: {entry}")
        queries.append(Query(text=entry["text"], sections=sections, count=count))
    if not queries:
        raise ValueError(f"{path}: holds no [[query]]")
    return queries
