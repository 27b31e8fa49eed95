"""What the fields of a foreign row mean: a mapping file, read and checked.

Decides what a mapping file may say. Applying it to rows is the business of ``headway.catalogue.conversion``. A
mapping is a TOML file (docs/guides/catalogue.md describes it); what it leaves open is taken from the mapping
``default``, which knows the names that such fields usually have.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

LANGUAGES = ("ko", "en", "ja", "zh", "fr", "de", "es", "it", "pt", "ru", "th", "vi", "id")
"""Languages that ``{lang}`` in a mapping stands for."""

TEXTS = ("names", "area", "description")
PLAIN = (
    "id", "kind", "city", "country", "lat", "lon", "tags", "price_level", "child_friendly", "source", "as_of", "url",
)  # fmt: skip
_TOP = frozenset(
    {
        "inherit",
        "records",
        "row",
        "rest",
        "language",
        "mapped_tags_only",
        "constants",
        "fields",
        "kinds",
        "tags",
        "prices",
    }
)
_FIELD = frozenset({"path", "split", "thresholds", "language"})


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class ShapeError(ValueError):
    """A mapping file cannot be used; the message names it and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Where a value comes from: the first of ``paths`` that holds something.

    ``split`` cuts a text into a list; ``thresholds`` (rising) make a price level of a number: the level is how many
    of them it exceeds; ``language`` is that of a text, empty to tell it by its script.
    """

    paths: tuple[str, ...]
    split: str = ""
    thresholds: tuple[float, ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A mapping as read. ``records`` is the path of the array in a document, ``row`` the path of the fields in a row.

    ``constants`` win over fields. ``rest`` keeps fields that nothing asked for as further facts. Keys of ``kinds``,
    ``tags`` and ``prices`` are lower case.
    """

    name: str
    records: str = ""
    row: str = ""
    rest: bool = True
    language: str = ""
    mapped_tags_only: bool = False
    constants: Mapping[str, Any] = field(default_factory=_nothing)
    fields: Mapping[str, Field] = field(default_factory=_nothing)
    kinds: Mapping[str, str] = field(default_factory=_nothing)
    tags: Mapping[str, str] = field(default_factory=_nothing)
    prices: Mapping[str, int] = field(default_factory=_nothing)

    def with_constants(self, constants: Mapping[str, Any]) -> Shape:
        """The same shape with further constants, which win."""
        return replace(self, constants=MappingProxyType({**self.constants, **constants}))


def shipped_names() -> tuple[str, ...]:
    """Names of the mappings that come with the package."""
    folder = resources.files("headway.catalogue") / "mappings"
    return tuple(sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")))


def load_shape(name_or_path: str) -> Shape:
    """The mapping that ships under that name, else the file at that path. Raises ShapeError."""
    if name_or_path in shipped_names():
        text = (resources.files("headway.catalogue") / "mappings" / f"{name_or_path}.toml").read_text(encoding="utf-8")
        return _shape(name_or_path, _parsed(name_or_path, text))
    try:
        text = Path(name_or_path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as fault:
        known = ", ".join(shipped_names())
        raise ShapeError(f"mapping {name_or_path}: cannot be read: {fault}. Mappings that ship: {known}") from fault
    return _shape(name_or_path, _parsed(name_or_path, text))


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise ShapeError(f"mapping {name}: {fault}") from fault


def _shape(name: str, data: Mapping[str, Any]) -> Shape:
    if unknown := sorted(set(data) - _TOP):
        raise ShapeError(f"mapping {name}: unknown entries {', '.join(unknown)}; known are {', '.join(sorted(_TOP))}")
    for table in ("constants", "fields", "kinds", "tags", "prices"):
        if not isinstance(data.get(table, {}), Mapping):
            raise ShapeError(f"mapping {name}: {table} must be a table")
    own = Shape(
        name=name,
        records=str(data.get("records", "")),
        row=str(data.get("row", "")),
        rest=bool(data.get("rest", True)),
        language=str(data.get("language", "")),
        mapped_tags_only=bool(data.get("mapped_tags_only", False)),
        constants=MappingProxyType(_flat_targets(name, data.get("constants", {}))),
        fields=MappingProxyType(_fields(name, data.get("fields", {}))),
        kinds=_lowered(data.get("kinds", {})),
        tags=_lowered(data.get("tags", {})),
        prices=_lowered(data.get("prices", {})),
    )
    return own if name == "default" or not data.get("inherit", True) else _over(load_shape("default"), own)


def _over(default: Shape, own: Shape) -> Shape:
    return replace(
        own,
        fields=MappingProxyType({**default.fields, **own.fields}),
        kinds=MappingProxyType({**default.kinds, **own.kinds}),
        tags=MappingProxyType({**default.tags, **own.tags}),
        prices=MappingProxyType({**default.prices, **own.prices}),
    )


def _fields(name: str, table: Mapping[str, Any]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for target, value in _flat_targets(name, table).items():
        spec = _field(name, target, value)
        if "{lang}" not in target:
            fields[target] = spec
            continue
        for language in LANGUAGES:
            paths = tuple(path.replace("{lang}", language) for path in spec.paths)
            fields[target.replace("{lang}", language)] = replace(spec, paths=paths, language=language)
    return fields


def _flat_targets(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """``names = {ko = …}`` and ``"names.ko" = …`` mean the same; checks that every target is one."""
    flat: dict[str, Any] = {}
    for target, value in table.items():
        if target in (*TEXTS, "extra") and isinstance(value, Mapping) and not set(value) <= _FIELD:
            flat |= {f"{target}.{part}": each for part, each in value.items()}
        else:
            flat[target] = value
    for target in flat:
        head, dot, tail = target.partition(".")
        if target not in PLAIN and target not in TEXTS and not (dot and tail and head in (*TEXTS, "extra")):
            known = ", ".join([*PLAIN, *(f"{each}.LANGUAGE" for each in TEXTS), "extra.NAME"])
            raise ShapeError(f"mapping {name}: {target!r} is not a field of a record; those are {known}")
    return flat


def _field(name: str, target: str, value: Any) -> Field:
    spec = value if isinstance(value, Mapping) else {"path": value}
    paths = spec.get("path")
    paths = [paths] if isinstance(paths, str) else paths
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str) and path for path in paths):
        raise ShapeError(f"mapping {name}: {target} needs a path or a list of paths")
    if unknown := sorted(set(spec) - _FIELD):
        raise ShapeError(f"mapping {name}: {target}: unknown entries {', '.join(unknown)}")
    thresholds = spec.get("thresholds", [])
    numbers = isinstance(thresholds, list) and all(isinstance(each, int | float) for each in thresholds)
    if not numbers or len(thresholds) > 4 or sorted(thresholds) != thresholds:
        raise ShapeError(f"mapping {name}: {target}: thresholds must be at most four rising numbers")
    return Field(
        paths=tuple(paths),
        split=str(spec.get("split", "")),
        thresholds=tuple(float(each) for each in thresholds),
        language=str(spec.get("language", "")),
    )


def _lowered(table: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({key.lower(): value for key, value in table.items()})
