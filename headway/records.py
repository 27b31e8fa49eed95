"""What items are written from and what they are made of, as values.

Decides nothing. A record is what the generator was given; a draft is an item that was found good, not yet numbered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record as given, in the language of the answer where the catalogue has it."""

    id: str
    name: str
    facts: str = ""
    description: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One item: plain text, ``sources`` are record ids, the main one first. ``extra`` are further fields of the
    schema."""

    title: str
    body: str
    reason: str
    sources: tuple[str, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
