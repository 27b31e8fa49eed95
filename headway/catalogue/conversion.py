"""A foreign row as a record, by a mapping.

Decides how texts, numbers, lists and flags of foreign rows are read. Knows no file formats. What is unusable in an
unimportant field is left out and said; what is unusable in an important one makes the row invalid.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headway.catalogue import geography
from headway.catalogue.plaintext import plain
from headway.catalogue.record import MAX_EXTRA, MAX_NAME, MAX_TAGS, MAX_TEXT, Record, RecordError, record_from
from headway.catalogue.shape import TEXTS, Field, Shape

_TRUE = frozenset({"true", "yes", "y", "1", "o", "예", "가능", "t"})
_FALSE = frozenset({"false", "no", "n", "0", "x", "아니오", "불가", "불가능", "f"})
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_LONGEST_TAG = 40
_FACT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The record of a row, and what had to be left out of it."""

    record: Record
    notes: tuple[str, ...] = ()


def convert(row: Any, shape: Shape) -> Converted:
    """The record that a row stands for. Raises RecordError saying what is missing or wrong."""
    fields = _found(row, shape.row) if shape.row else row
    if not isinstance(fields, Mapping):
        hint = "; a mapping can say at which position the fields are (row)" if isinstance(row, list) else ""
        raise RecordError(f"is not an object with fields{hint}")
    reading = _Reading(fields, shape)
    data: dict[str, Any] = {
        "kind": reading.kind(),
        "city": reading.city(),
        "price_level": reading.price(),
        "child_friendly": reading.flag("child_friendly"),
        "tags": reading.tags(),
        "source": plain(reading.text("source"), MAX_NAME) or "import",
        "as_of": reading.date(),
        "url": reading.url(),
    }
    data |= {name: reading.texts(name, MAX_TEXT if name == "description" else MAX_NAME) for name in TEXTS}
    data["lat"], data["lon"] = reading.position()
    data["country"] = reading.country(str(data["city"]))
    data["extra"] = reading.extra()
    data["id"] = reading.identity(data)
    record = record_from({name: value for name, value in data.items() if value not in (None, "", {}, [])})
    return Converted(record=record, notes=tuple(reading.notes))


class _Reading:
    """One row while it is read: remembers which of its fields were asked for, and what was left out."""

    def __init__(self, fields: Mapping[Any, Any], shape: Shape) -> None:
        self.fields = fields
        self.shape = shape
        self.used: set[str] = set()
        self.notes: list[str] = []

    def value(self, target: str) -> Any:
        """The mapping's constant for a target, else what the row has for it, else None."""
        if target in self.shape.constants:
            return self.shape.constants[target]
        field = self.shape.fields.get(target)
        for path in field.paths if field else ():
            found = _found(self.fields, path)
            if not _empty(found):
                self.used.add(path if path in self.fields else path.partition(".")[0])
                return found
        return None

    def text(self, target: str) -> str:
        return _as_text(self.value(target))

    def kind(self) -> str:
        text = plain(self.text("kind"), MAX_NAME)
        known = self.shape.kinds.get(text.lower()) or self.shape.kinds.get("*")
        return str(known) if known else geography.slug(text)

    def city(self) -> str:
        city = geography.city_slug(plain(self.text("city"), MAX_NAME))
        if not city:
            raise RecordError("city: is missing; name it in the mapping, as a field or as a constant")
        return city

    def country(self, city: str) -> str:
        text = plain(self.text("country"), MAX_NAME)
        if text:
            code = geography.country_code(text)
            if not code:
                self.notes.append(f"country {text[:40]!r} is not known")
            return code
        if any("가" <= each <= "힣" for each in self.text("city")):
            return "KR"
        return geography.country_of_city(city)

    def texts(self, target: str, limit: int) -> dict[str, str]:
        texts: dict[str, str] = {}
        value = self.value(target)
        if isinstance(value, Mapping):
            texts |= {str(key): plain(_as_text(each), limit) for key, each in value.items()}
        elif value is not None:
            text = plain(_as_text(value), limit)
            field = self.shape.fields.get(target, Field(paths=()))
            texts[field.language or self.shape.language or _language_of(text)] = text
        for name in self.shape.fields.keys() | self.shape.constants.keys():
            if name.startswith(target + ".") and (text := plain(self.text(name), limit)):
                texts[name.partition(".")[2]] = text
        return {language: text for language, text in sorted(texts.items()) if text}

    def tags(self) -> list[str]:
        value = self.value("tags")
        field = self.shape.fields.get("tags", Field(paths=()))
        words = [_as_text(each) for each in value] if isinstance(value, list) else [_as_text(value)]
        if field.split:
            words = [part for word in words for part in re.split(f"[{re.escape(field.split)}]", word)]
        tags: dict[str, None] = {}
        for word in words:
            mapped = self.shape.tags.get(word.strip().lower())
            tag = mapped or ("" if self.shape.mapped_tags_only else geography.slug(plain(word, MAX_NAME)))
            if tag and len(tag) <= _LONGEST_TAG:
                tags[tag] = None
        return list(tags)[:MAX_TAGS]

    def price(self) -> int | None:
        value = self.value("price_level")
        if value is None:
            return None
        field = self.shape.fields.get("price_level", Field(paths=()))
        number = _as_number(value)
        if field.thresholds and number is not None:
            return sum(number > threshold for threshold in field.thresholds)
        word = self.shape.prices.get(_as_text(value).strip().lower())
        if word is not None:
            return int(word)
        if number is not None and number.is_integer() and 0 <= number <= 4:
            return int(number)
        if not isinstance(value, bool) and _as_text(value).strip().lower() not in _FALSE:
            self.notes.append(f"price {_as_text(value)[:40]!r} is not known")
        return None

    def flag(self, target: str) -> bool | None:
        value = self.value(target)
        if isinstance(value, bool):
            return value
        word = _as_text(value).strip().lower()
        return True if word in _TRUE else False if word in _FALSE else None

    def position(self) -> tuple[float | None, float | None]:
        lat, lon = _as_number(self.value("lat")), _as_number(self.value("lon"))
        if lat is None or lon is None or (lat == 0 and lon == 0):
            return None, None
        if abs(lat) > 90 or abs(lon) > 180:
            self.notes.append(f"coordinates {lat:g}, {lon:g} are not degrees (WGS 84)")
            return None, None
        return lat, lon

    def date(self) -> str:
        found = re.match(r"\d{4}(-\d{2}(-\d{2})?)?", self.text("as_of").strip())
        return found[0] if found else ""

    def url(self) -> str:
        text = self.text("url").strip()
        return text if re.fullmatch(r"https?://[^\s<>\"\x00-\x1f\x7f-\x9f]{1,2000}", text) else ""

    def extra(self) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for name in self.shape.fields.keys() | self.shape.constants.keys():
            if name.startswith("extra."):
                facts[name.partition(".")[2]] = _scalar(self.value(name))
        given = self.fields.get("extra")
        if self.shape.rest:
            unasked = {key: value for key, value in self.fields.items() if key not in self.used and key != "extra"}
            for key, value in {**unasked, **(given if isinstance(given, Mapping) else {})}.items():
                if not self._is_known(str(key)):
                    facts.setdefault(plain(str(key), 60), _scalar(value))
        kept = {key: value for key, value in facts.items() if key and value is not None}
        return dict(sorted(kept.items())[:MAX_EXTRA])

    def identity(self, data: Mapping[str, Any]) -> str:
        """The row's own id, else one made of what it holds: the same row gives the same id on every import."""
        own = re.sub(r"\s+", "-", plain(self.text("id"), MAX_NAME))
        if own:
            return own
        name = next(iter(data["names"].values()), "")
        content = json.dumps(self.fields, ensure_ascii=True, sort_keys=True, default=str)
        digest = hashlib.blake2b(content.encode(), digest_size=4).hexdigest()
        return "-".join(part for part in (str(data["city"]), geography.slug(name)[:60].strip("-"), digest) if part)

    def _is_known(self, key: str) -> bool:
        """True for a second spelling of something that is already in the record."""
        return any(key == path for field in self.shape.fields.values() for path in field.paths)


def _found(fields: Any, path: str) -> Any:
    """What is at a path: the key itself when there is one, else step by step; numbers are positions in lists."""
    if isinstance(fields, Mapping) and path in fields:
        return fields[path]
    value = fields
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and re.fullmatch(r"\d{1,6}", step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, list):
        return ", ".join(text for text in map(_as_text, value[:MAX_TAGS]) if text)
    return ""


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        number = float(value) if abs(value) < 1e300 else math.nan
    else:
        text = _as_text(value).replace(",", "").strip()
        number = float(text) if _NUMBER.fullmatch(text) and len(text) < 40 else math.nan
    return number if math.isfinite(number) else None


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value, _FACT) or None
    if isinstance(value, list):
        return plain(_as_text(value), _FACT) or None
    if isinstance(value, bool):
        return value
    number = _as_number(value)
    return None if number is None else int(value) if isinstance(value, int) and abs(value) < 2**53 else number


def _language_of(text: str) -> str:
    """The language that the script of a text speaks for; Latin and unknown scripts count as English."""
    return next(_languages(text), "en")


def _languages(text: str) -> Iterator[str]:
    if any("가" <= each <= "힣" for each in text):
        yield "ko"
    if any("ぁ" <= each <= "ヿ" for each in text):
        yield "ja"
    if any("一" <= each <= "鿿" for each in text):
        yield "zh"
