"""A domain: what is recommended, as a folder of data.

Decides what a domain folder must hold and reads it. Knows nothing of travel, of services or of models; whoever
recommends films or shoes brings another folder with the same files:

    domain.toml        name, languages, default_max_items, [[section]] and [[intent]]
    intents/NAME.toml  example utterances of an intent, one list per language
    item.schema.json   JSON schema of one item as a model writes it
    prompt.md          the static part of every prompt: byte-stable, the same for all requests
    tags.toml          labels of catalogue tags per language, and the words that ask for them
    catalogue/*.jsonl  the records
    (further files are the business of the services that read them, by ``root``)
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jsonschema


class DomainError(ValueError):
    """A domain folder cannot be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of an answer; ``kinds`` are the catalogue kinds that fill it, ``titles`` its headings by language."""

    name: str
    kinds: tuple[str, ...]
    titles: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a query may ask for. ``recommends`` is false where no items are made; ``notices`` then say so, by
    language.
    """

    name: str
    recommends: bool
    examples: Mapping[str, tuple[str, ...]]
    notices: Mapping[str, str]
    sections: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One catalogue tag: its labels by language and the lower-case words of queries that ask for it."""

    name: str
    labels: Mapping[str, str]
    words: tuple[str, ...]

    def label(self, language: str) -> str:
        """The label in that language, else in English, else the name."""
        return self.labels.get(language) or self.labels.get("en") or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A domain as loaded; ``prompt`` is the static part of every prompt."""

    name: str
    root: Path
    languages: tuple[str, ...]
    default_max_items: int
    sections: tuple[Section, ...]
    intents: tuple[Intent, ...]
    fallback_intent: str
    item_schema: Mapping[str, Any]
    prompt: str
    tags: Mapping[str, Tag]

    def intent(self, name: str) -> Intent:
        """The intent of that name; an unknown name stands for the fallback."""
        known = {intent.name: intent for intent in self.intents}
        return known.get(name) or known[self.fallback_intent]

    def section_names(self) -> tuple[str, ...]:
        """Names of the sections, in the order in which they are shown."""
        return tuple(section.name for section in self.sections)

    def section_of_kind(self, kind: str) -> str:
        """The section that a catalogue kind belongs to, or an empty string when none takes it."""
        return next((section.name for section in self.sections if kind in section.kinds), "")


def load(root: Path) -> Domain:
    """Reads a domain folder. Raises DomainError, naming the file, when it is missing or not well-formed."""
    head = _toml(root / "domain.toml")
    try:
        sections = tuple(_section(each) for each in head["section"])
        intents = tuple(_intent(root, each) for each in head["intent"])
        domain = Domain(
            name=head["name"],
            root=root,
            languages=tuple(head["languages"]),
            default_max_items=int(head["default_max_items"]),
            sections=sections,
            intents=intents,
            fallback_intent=head["fallback_intent"],
            item_schema=_schema(root / "item.schema.json"),
            prompt=_text(root / "prompt.md"),
            tags=_tags(root / "tags.toml"),
        )
    except KeyError as missing:
        raise DomainError(f"{root / 'domain.toml'}: {missing.args[0]} is missing") from missing
    _check(domain)
    return domain


def _check(domain: Domain) -> None:
    where = domain.root / "domain.toml"
    if domain.fallback_intent not in {intent.name for intent in domain.intents}:
        raise DomainError(f"{where}: fallback_intent {domain.fallback_intent!r} is not one of the intents")
    if not 1 <= domain.default_max_items <= 50:
        raise DomainError(f"{where}: default_max_items must be from 1 to 50")
    known = set(domain.section_names())
    for intent in domain.intents:
        if unknown := set(intent.sections) - known:
            raise DomainError(f"{where}: intent {intent.name} names unknown sections {sorted(unknown)}")


def _section(data: Mapping[str, Any]) -> Section:
    return Section(name=data["name"], kinds=tuple(data["kinds"]), titles=MappingProxyType(dict(data["titles"])))


def _intent(root: Path, data: Mapping[str, Any]) -> Intent:
    examples = _toml(root / "intents" / f"{data['name']}.toml")
    return Intent(
        name=data["name"],
        recommends=bool(data["recommends"]),
        examples=MappingProxyType({language: tuple(lines) for language, lines in examples.items()}),
        notices=MappingProxyType(dict(data.get("notices", {}))),
        sections=tuple(data.get("sections", ())),
    )


def _tags(path: Path) -> Mapping[str, Tag]:
    tags = {}
    for name, data in _toml(path).items():
        labels = {key: value for key, value in data.items() if key != "words"}
        words = tuple(word.lower() for word in data.get("words", ()))
        tags[name] = Tag(name=name, labels=MappingProxyType(labels), words=words)
    return MappingProxyType(tags)


def _schema(path: Path) -> Mapping[str, Any]:
    try:
        schema: dict[str, Any] = json.loads(_text(path))
        jsonschema.Draft202012Validator.check_schema(schema)
    except (json.JSONDecodeError, jsonschema.SchemaError) as fault:
        raise DomainError(f"{path}: not a JSON schema: {fault}") from fault
    return MappingProxyType(schema)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as fault:
        raise DomainError(f"{path}: {fault}") from fault


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise DomainError(f"{path}: cannot be read: {fault}") from fault
