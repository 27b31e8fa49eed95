"""A catalogue record: one thing that can be recommended.

Decides what a valid record is. Knows neither files nor their formats; what becomes of an invalid one is the caller's
choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

Scalar = str | int | float | bool
ById = Mapping[str, str]

MAX_NAME = 200
MAX_TEXT = 2000
MAX_TAGS = 40
MAX_EXTRA = 40
_SLUG = re.compile(r"[^\W_]+(-[^\W_]+)*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_COUNTRY = re.compile(r"[A-Z]{2}")
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
_URL = re.compile(r"https?://[^\s<>\"]{1,2000}")
_NOT_PLAIN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class RecordError(ValueError):
    """A record is not valid; the message names every field at fault and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One thing that can be recommended.

    ``names``, ``area`` and ``description`` are texts by language code; ``city`` and ``tags`` are slugs;
    ``price_level`` runs from 0 (free) to 4 (luxury); None stands for unknown throughout; ``extra`` holds further
    facts as the source had them.
    """

    id: str
    kind: str
    names: ById
    city: str
    country: str = ""
    area: ById = field(default_factory=lambda: _NOTHING)
    lat: float | None = None
    lon: float | None = None
    tags: tuple[str, ...] = ()
    description: ById = field(default_factory=lambda: _NOTHING)
    price_level: int | None = None
    child_friendly: bool | None = None
    source: str
    as_of: str = ""
    url: str = ""
    extra: Mapping[str, Scalar] = field(default_factory=lambda: _NOTHING)


FIELDS = tuple(each.name for each in fields(Record))


def in_language(texts: ById, language: str) -> str:
    """The text in that language, else in English, else in whatever there is, else an empty string."""
    return texts.get(language) or texts.get("en") or next(iter(texts.values()), "")


def record_from(data: object) -> Record:
    """The record that ``data``, an object as JSON has them, stands for. Raises RecordError naming every fault."""
    if not isinstance(data, Mapping):
        raise RecordError("is not an object with fields")
    faults = [f"unknown field {str(key)[:40]!r} (further facts belong into extra)" for key in data if key not in FIELDS]
    for name, check in _CHECKS.items():
        if fault := check(data.get(name)):
            faults.append(f"{name}: {fault}")
    if (data.get("lat") is None) != (data.get("lon") is None):
        faults.append("lat, lon: one is there without the other")
    if faults:
        raise RecordError("; ".join(faults))
    return trusted(data)


def trusted(data: Mapping[str, Any]) -> Record:
    """The record of an object that was checked before, for example when it was written to an index file."""
    values = {name: value for name, value in data.items() if value is not None}
    for name in ("names", "area", "description", "extra"):
        values[name] = MappingProxyType(dict(values.get(name) or {}))
    for name in ("lat", "lon"):
        values[name] = None if values.get(name) is None else float(values[name])
    values["tags"] = tuple(values.get("tags") or ())
    return Record(**values)


def as_object(record: Record) -> dict[str, Any]:
    """The record as an object for JSON, without fields that are empty or unknown. ``record_from`` reads it back."""
    data: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(record, name)
        if isinstance(value, Mapping):
            value = dict(value)
        if value is None or value == "" or value == {} or value == ():
            continue
        data[name] = list(value) if isinstance(value, tuple) else value
    return data


def _text_fault(value: object, limit: int) -> str:
    if not isinstance(value, str) or not value.strip():
        return "must be a text that is not empty"
    if len(value) > limit:
        return f"must have at most {limit} characters, has {len(value)}"
    return "must be plain text without control characters or line breaks" if _NOT_PLAIN.search(value) else ""


def _texts(value: object, limit: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, Mapping):
        return "must hold texts by language code"
    for language, text in value.items():
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            return f"{str(language)[:20]!r} is not a language code"
        if fault := _text_fault(text, limit):
            return f"{language} {fault}"
    return ""


def _names(value: object) -> str:
    return "is missing" if not value else _texts(value, MAX_NAME)


def _id(value: object) -> str:
    if fault := _text_fault(value, MAX_NAME):
        return fault
    return "must have no spaces" if re.search(r"\s", str(value)) else ""


def _slug(value: object) -> str:
    if not value:
        return "is missing"
    if not isinstance(value, str) or len(value) > 80 or not _SLUG.fullmatch(value) or value != value.lower():
        return "must be lower-case letters and digits with hyphens between, at most 80 characters"
    return ""


def _tags(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, list | tuple) or len(value) > MAX_TAGS:
        return f"must be a list of at most {MAX_TAGS}"
    bad = next((tag for tag in value if _slug(tag)), None)
    return "" if bad is None else f"{str(bad)[:40]!r} is not in lower case with hyphens"


def _degrees(most: float) -> Any:
    def check(value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return "must be a number"
        return "" if -most <= value <= most else f"must be from -{most:g} to {most:g} degrees"

    return check


def _price(value: object) -> str:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 4):
        return ""
    return "must be a whole number from 0 (free) to 4 (luxury), or unknown"


def _flag(value: object) -> str:
    return "" if value is None or isinstance(value, bool) else "must be true, false or unknown"


def _pattern(pattern: re.Pattern[str], wanted: str) -> Any:
    def check(value: object) -> str:
        if value is None or value == "" or (isinstance(value, str) and pattern.fullmatch(value)):
            return ""
        return f"must be {wanted}"

    return check


def _extra(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, Mapping) or len(value) > MAX_EXTRA:
        return f"must be an object of at most {MAX_EXTRA} facts"
    for key, fact in value.items():
        if not isinstance(key, str) or not isinstance(fact, str | int | float | bool):
            return "must hold texts, numbers, true or false only"
        if isinstance(fact, float) and not math.isfinite(fact):
            return f"{key[:40]} must be a finite number"
        if _NOT_PLAIN.search(key) or (isinstance(fact, str) and (len(fact) > MAX_TEXT or _NOT_PLAIN.search(fact))):
            return f"{key[:40]!r} must be plain text of at most {MAX_TEXT} characters"
    return ""


_CHECKS: Mapping[str, Any] = {
    "id": _id,
    "kind": _slug,
    "names": _names,
    "city": _slug,
    "country": _pattern(_COUNTRY, "a two-letter country code in capitals"),
    "area": lambda value: _texts(value, MAX_NAME),
    "lat": _degrees(90),
    "lon": _degrees(180),
    "tags": _tags,
    "description": lambda value: _texts(value, MAX_TEXT),
    "price_level": _price,
    "child_friendly": _flag,
    "source": lambda value: _text_fault(value, MAX_NAME),
    "as_of": _pattern(_DATE, "a date such as 2026, 2026-11 or 2026-11-30"),
    "url": _pattern(_URL, "an http or https address"),
    "extra": _extra,
}
