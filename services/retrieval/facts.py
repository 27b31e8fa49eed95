"""A record cut down to the facts that a prompt and an item need, in one language.

Decides which facts go into the line, in which order, and how long they may be. Text of the record stays data: it is
made one line of plain text and nothing of it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.catalogue.plaintext import plain, shorten
from headway.catalogue.record import Record, in_language
from headway.domain import Domain

MAX_FACTS = 320
_MAX_DESCRIPTION = 160
_MOST_TAGS = 6

_PRICES: Mapping[str, tuple[str, ...]] = {
    "ko": ("무료", "저렴함", "보통 가격", "비싼 편", "고급"),
    "en": ("free", "inexpensive", "moderate", "expensive", "luxury"),
    "ja": ("無料", "手頃", "普通の価格", "高め", "高級"),
}
_CHILDREN: Mapping[str, tuple[str, str]] = {
    "ko": ("아이와 가기 좋음", "아이와 가기 어려움"),
    "en": ("good with children", "not for children"),
    "ja": ("子ども連れ向き", "子どもには不向き"),
}


def facts(record: Record, domain: Domain, language: str) -> str:
    """One line: kind, area, tags, price, children, description; in ``language`` where there is text in it, else
    English."""
    parts = (
        _kind(record, domain, language),
        in_language(record.area, language),
        ", ".join(_label(tag, domain, language) for tag in record.tags[:_MOST_TAGS]),
        _price(record, language),
        _children(record, language),
        shorten(in_language(record.description, language), _MAX_DESCRIPTION),
    )
    return plain(" · ".join(part for part in parts if part), MAX_FACTS)


def attributes(record: Record) -> dict[str, Any]:
    """Further facts as plain values, for ``Item.attributes``; what is unknown is left out."""
    values: dict[str, Any] = dict(record.extra)
    values |= {"kind": record.kind, "source": record.source}
    if record.tags:
        values["tags"] = list(record.tags)
    if record.price_level is not None:
        values["price_level"] = record.price_level
    if record.child_friendly is not None:
        values["child_friendly"] = record.child_friendly
    if record.as_of:
        values["as_of"] = record.as_of
    return values


def _kind(record: Record, domain: Domain, language: str) -> str:
    section = domain.section_of_kind(record.kind)
    titles = next((each.titles for each in domain.sections if each.name == section), {})
    return in_language(titles, language) or record.kind.replace("-", " ")


def _label(tag: str, domain: Domain, language: str) -> str:
    known = domain.tags.get(tag)
    return known.label(language) if known else tag.replace("-", " ")


def _price(record: Record, language: str) -> str:
    return "" if record.price_level is None else _PRICES.get(language, _PRICES["en"])[record.price_level]


def _children(record: Record, language: str) -> str:
    if record.child_friendly is None:
        return ""
    return _CHILDREN.get(language, _CHILDREN["en"])[0 if record.child_friendly else 1]
