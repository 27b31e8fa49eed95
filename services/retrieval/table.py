"""The catalogue as columns, so that filters are array operations.

Decides how places are found by name among the records, and which cities are near each other. Pure; knows no slots.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.catalogue.geography import city_slug, country_code
from headway.catalogue.record import Record

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
"""Numbers of records, rising."""
UNKNOWN = -1
# Characters from which on a name is hardly an ordinary word as well.
_LONG_LATIN, _LONG_OTHER = 8, 3
_EARTH_RADIUS_KM = 6371.0


class Table:
    """Columns over ``records``, in their order. Immutable once built."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.cities = tuple(sorted({record.city for record in records}))
        self._city_numbers = {city: number for number, city in enumerate(self.cities)}
        self._city = _column((self._city_numbers[record.city] for record in records), np.int32)
        self._countries = _rows(records, lambda record: (record.country,))
        self._kinds = _rows(records, lambda record: (record.kind,))
        self.child = _column((_flag(record.child_friendly) for record in records), np.int8)
        self.price = _column((_price(record.price_level) for record in records), np.int8)
        self._tags = _rows(records, lambda record: record.tags)
        self._areas = [folded(" ".join(record.area.values())) for record in records]
        self._names = _long_names(records)
        self._points = np.array(
            [(record.lat, record.lon) if record.lat is not None else (np.nan, np.nan) for record in records],
            dtype=np.float64,
        ).reshape(len(records), 2)
        self._words = [folded(" ".join((*record.names.values(), *record.tags))) for record in records]
        self._centres = self._city_centres()

    def __len__(self) -> int:
        return len(self.records)

    def everything(self) -> Mask:
        """All records."""
        return np.ones(len(self.records), dtype=np.bool_)

    def of_kinds(self, kinds: Iterable[str]) -> Mask:
        """Records of any of these kinds."""
        return self._mask(self._kinds.get(kind) for kind in kinds)

    def tagged(self, tag: str) -> Mask:
        """Records that carry a tag."""
        return self._mask([self._tags.get(tag)])

    def mentioning(self, word: str) -> Mask:
        """Records in whose names or tags a word occurs."""
        wanted = folded(word)
        return _column((bool(wanted) and wanted in words for words in self._words), np.bool_)

    def in_area(self, text: str, among: Mask | None = None) -> Mask:
        """Records, ``among`` those given, whose area names this place."""
        wanted = folded(text)
        mask = np.zeros(len(self.records), dtype=np.bool_)
        if len(wanted) > 1:
            rows = range(len(self.records)) if among is None else np.flatnonzero(among).tolist()
            mask[[row for row in rows if wanted in self._areas[row]]] = True
        return mask

    def in_cities(self, cities: Iterable[str]) -> Mask:
        """Records in any of these cities."""
        numbers = [self._city_numbers[city] for city in cities if city in self._city_numbers]
        return np.isin(self._city, numbers)

    def at(self, place: str, text: str = "") -> Mask:
        """Records at a place given by its slug and by the words that named it.

        The first that finds any: the city of that slug, the country of that name, the city that the words name, the
        area that either names, the city of the record that the words name.
        """
        tries: tuple[Callable[[], Mask], ...] = (
            lambda: self.in_cities([place]),
            lambda: self._mask([self._countries.get(country_code(place)) if country_code(place) else None]),
            lambda: self.in_cities([city_slug(text)] if text else []),
            lambda: self.in_area(place.replace("-", " ")),
            lambda: self.in_area(text),
            lambda: self.in_cities([] if (row := self.named_in(text)) is None else [self.city_of(row)]),
        )
        found = self.in_cities([])
        for attempt in tries:
            found = attempt()
            if found.any():
                return found
        return found

    def named_in(self, text: str, among: Mask | None = None) -> int | None:
        """The record with the longest name, ``among`` those given, that a text mentions. Short names, which may be
        ordinary words, do not count."""
        said = folded(text)
        return next((row for name, row in self._names if name in said and (among is None or among[row])), None)

    def kilometres_from(self, row: int) -> NDArray[np.float64]:
        """How far every record is from this one; not a number where that is not known."""
        lat, lon = np.radians(self._points[row])
        lats, lons = np.radians(self._points.T)
        half = np.sin((lats - lat) / 2) ** 2 + np.cos(lat) * np.cos(lats) * np.sin((lons - lon) / 2) ** 2
        distances: NDArray[np.float64] = 2 * _EARTH_RADIUS_KM * np.arcsin(np.sqrt(half))
        return distances

    def city_of(self, row: int) -> str:
        """The city of a record."""
        return self.cities[int(self._city[row])]

    def cities_of(self, mask: Mask) -> tuple[str, ...]:
        """Cities that the records of a mask lie in."""
        return tuple(self.cities[number] for number in np.unique(self._city[mask]))

    def near(self, cities: Iterable[str], within_km: float) -> tuple[str, ...]:
        """Other cities whose records lie, on average, within that distance of those of any of ``cities``, nearest
        first."""
        given = list(cities)
        distances: dict[str, float] = {}
        for city in given:
            for other, centre in self._centres.items():
                if other not in given and city in self._centres:
                    distance = _kilometres(self._centres[city], centre)
                    distances[other] = min(distance, distances.get(other, distance))
        return tuple(sorted((city for city, far in distances.items() if far <= within_km), key=distances.__getitem__))

    def _mask(self, groups: Iterable[Rows | None]) -> Mask:
        mask = np.zeros(len(self.records), dtype=np.bool_)
        for rows in groups:
            if rows is not None:
                mask[rows] = True
        return mask

    def _city_centres(self) -> dict[str, tuple[float, float]]:
        points: dict[str, list[tuple[float, float]]] = {}
        for record in self.records:
            if record.lat is not None and record.lon is not None:
                points.setdefault(record.city, []).append((record.lat, record.lon))
        return {
            city: (float(np.median(rows, axis=0)[0]), float(np.median(rows, axis=0)[1]))
            for city, rows in points.items()
        }


def folded(text: str) -> str:
    """Text for comparing: one spelling, lower case, no spaces."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _column(values: Iterable[Any], kind: Any) -> NDArray[Any]:
    return np.fromiter(values, dtype=kind)


def _flag(value: bool | None) -> int:
    return UNKNOWN if value is None else int(value)


def _price(value: int | None) -> int:
    return UNKNOWN if value is None else value


def _long_names(records: Sequence[Record]) -> list[tuple[str, int]]:
    """Names, the longest first, with their records; those of records that share a name are left out."""
    rows: dict[str, set[int]] = {}
    for row, record in enumerate(records):
        for name in map(folded, record.names.values()):
            if len(name) >= (_LONG_LATIN if name.isascii() else _LONG_OTHER):
                rows.setdefault(name, set()).add(row)
    named = [(name, next(iter(found))) for name, found in rows.items() if len(found) == 1]
    return sorted(named, key=lambda each: (-len(each[0]), each[0]))


def _rows(records: Sequence[Record], keys: Callable[[Record], Iterable[str]]) -> dict[str, Rows]:
    rows: dict[str, list[int]] = {}
    for position, record in enumerate(records):
        for key in keys(record):
            rows.setdefault(key, []).append(position)
    return {key: np.array(listed, dtype=np.int64) for key, listed in rows.items()}


def _kilometres(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Great-circle distance by the haversine formula."""
    lat, lon, other_lat, other_lon = np.radians([*one, *other])
    half = np.sin((other_lat - lat) / 2) ** 2 + np.cos(lat) * np.cos(other_lat) * np.sin((other_lon - lon) / 2) ** 2
    return float(2 * _EARTH_RADIUS_KM * np.arcsin(np.sqrt(half)))
