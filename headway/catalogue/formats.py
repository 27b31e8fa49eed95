"""Files as numbered rows: JSONL, JSON, CSV, GeoJSON and the Korean public-data standard JSON.

Decides where one row ends and the next begins, and which rows cannot be read. What the fields of a row mean is the
business of a mapping.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from headway.catalogue.encoding import DAMAGED
from headway.catalogue.mending import objects_of

_SEPARATORS = ",;\t|"
_RECORDS_KEY = re.compile(r'"(?:records|items|data|rows|features)"\s*:\s*\[')
_DECLARED = re.compile(r'\{\s*"id"\s*:\s*"([^"]{1,60})"')


class FormatError(ValueError):
    """The file is not in that format at all; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a file: ``number`` from 1, its ``fields``, or None and the ``fault``; ``note``: what was mended."""

    number: int
    fields: Any = None
    fault: str = ""
    note: str = ""


Reader = Callable[[str, str], Iterable[Row]]
"""Reads a text; the second argument is the path of the records inside a JSON document, empty for the usual places."""


def jsonl(text: str, records: str = "") -> Iterator[Row]:
    """One JSON value a line; ``number`` is the line's. Empty lines are left out."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _json_row(number, line)


def json_document(text: str, records: str = "") -> Iterator[Row]:
    """A JSON document that holds an array of records, at ``records`` or where such documents usually have it.

    A document that is not valid JSON is read object by object as far as that goes. Raises FormatError.
    """
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as fault:
        yield from _damaged(text, fault)
        return
    for number, fields in enumerate(_listed(document, records), start=1):
        yield Row(number=number, fields=fields)


def standard_json(text: str, records: str = "") -> Iterator[Row]:
    """The Korean public-data standard JSON (``{"fields":[…],"records":[…]}``), whole, damaged, or one record a line."""
    first = text.lstrip()[:2_000_000].split("\n", 1)[0]
    if "\n" in text.strip() and _object_or_none(first) is not None:
        return jsonl(text)
    return json_document(text, records)


def delimited(text: str, records: str = "") -> Iterator[Row]:
    """CSV with a header line, separated by comma, semicolon, tab or bar. ``number`` counts rows below the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text))
    header: list[str] | None = None
    number = 0
    while True:
        try:
            values = next(reader)
        except StopIteration:
            break
        except csv.Error as fault:
            number += header is not None
            yield Row(number=number, fault=f"is not valid CSV: {fault}")
            continue
        if not any(value.strip() for value in values):
            continue
        if header is None:
            header = [value.strip() for value in values]
            continue
        number += 1
        yield _csv_row(number, header, values)
    if header is None:
        raise FormatError("there is no header line")


def geojson(text: str, records: str = "") -> Iterator[Row]:
    """GeoJSON: a FeatureCollection, one Feature, or one Feature a line. Properties become fields, geometry lat and
    lon."""
    rows = jsonl(text) if _object_or_none(text) is None and "\n" in text.strip() else _features(text)
    for row in rows:
        yield row if row.fault else _feature_row(row)


FORMATS: Mapping[str, Reader] = {
    "jsonl": jsonl,
    "json": json_document,
    "csv": delimited,
    "geojson": geojson,
    "kr-standard": standard_json,
}
"""Readers by the names that the command line knows."""


def detect(name: str, text: str) -> str:
    """The format that a file's name, and where that is not enough its text, speak for."""
    suffix = name.lower().rpartition(".")[2]
    by_suffix = {
        "jsonl": "jsonl",
        "ndjson": "jsonl",
        "csv": "csv",
        "tsv": "csv",
        "geojson": "geojson",
        "geojsonl": "geojson",
    }
    if suffix in by_suffix:
        return by_suffix[suffix]
    head = text.lstrip()[:4000]
    if '"FeatureCollection"' in head or head.startswith('{"type":"Feature"'):
        return "geojson"
    if head.startswith("{") and '"fields"' in head and '"id"' in head and _RECORDS_KEY.search(text[:200_000]):
        return "kr-standard"
    if head.startswith("["):
        return "json"
    if head.startswith("{"):
        return "jsonl" if _object_or_none(head.split("\n", 1)[0]) is not None and "\n" in text.strip() else "json"
    return "csv"


def _json_row(number: int, line: str) -> Row:
    if DAMAGED in line:
        return Row(number=number, fault="holds bytes that are not in the encoding of the file")
    try:
        return Row(number=number, fields=orjson.loads(line))
    except orjson.JSONDecodeError as fault:
        return Row(number=number, fault=f"is not valid JSON: {fault}")


def _object_or_none(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _damaged(text: str, fault: Exception) -> Iterator[Row]:
    opening = _RECORDS_KEY.search(text)
    start = opening.end() if opening else text.find("[") + 1
    if start == 0:
        raise FormatError(f"this is not JSON: {fault}")
    declared = _DECLARED.findall(text[:start])
    found = False
    for number, piece in enumerate(objects_of(text[start:], declared), start=1):
        found = True
        yield Row(number=number, fields=piece.fields, fault=piece.fault, note=piece.note)
    if not found:
        raise FormatError(f"this is not JSON: {fault}")


def _listed(document: Any, records: str) -> Sequence[Any]:
    """The array of records inside a document; an object of objects counts as the array of its values."""
    places = [records] if records else ["", "records", "items", "data", "rows", "results", "response.body.items"]
    for place in places:
        value = document
        for step in place.split(".") if place else ():
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, list):
            return value
        if place == records and records and isinstance(value, dict):
            return list(value.values())
    if records:
        raise FormatError(f"there is no array at {records!r}")
    if isinstance(document, dict):
        values = list(document.values())
        return values if len(values) > 1 and all(isinstance(each, dict) for each in values) else [document]
    raise FormatError("there is neither an array nor an object")


def _separator(text: str) -> str:
    header = text.lstrip("\ufeff\r\n ").split("\n", 1)[0]
    return max(_SEPARATORS, key=header.count)


def _csv_row(number: int, header: Sequence[str], values: Sequence[str]) -> Row:
    if len(values) != len(header):
        return Row(number=number, fault=f"has {len(values)} fields where the header has {len(header)}")
    if any(DAMAGED in value for value in values):
        return Row(number=number, fault="holds bytes that are not in the encoding of the file")
    return Row(number=number, fields=dict(zip(header, values, strict=True)))


def _features(text: str) -> Iterator[Row]:
    document = _object_or_none(text)
    if document is None:
        yield from json_document(text)
    elif document.get("type") == "FeatureCollection" and isinstance(document.get("features"), list):
        for number, feature in enumerate(document["features"], start=1):
            yield Row(number=number, fields=feature)
    elif document.get("type") == "Feature":
        yield Row(number=1, fields=document)
    else:
        raise FormatError("this is not GeoJSON: there is neither a FeatureCollection nor a Feature")


def _feature_row(row: Row) -> Row:
    feature = row.fields
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        return Row(number=row.number, fault="is not a GeoJSON Feature")
    properties = feature.get("properties")
    fields: dict[str, Any] = dict(properties) if isinstance(properties, dict) else {}
    if isinstance(feature.get("id"), str | int):
        fields.setdefault("id", str(feature["id"]))
    points = list(_points(feature.get("geometry")))
    if points:
        longitudes, latitudes = [point[0] for point in points], [point[1] for point in points]
        fields["lon"] = (min(longitudes) + max(longitudes)) / 2
        fields["lat"] = (min(latitudes) + max(latitudes)) / 2
    return Row(number=row.number, fields=fields, note=row.note)


def _points(geometry: Any) -> Iterator[tuple[float, float]]:
    """All positions of a geometry; anything that is none is passed over. A stack, since nesting may be deep."""
    waiting: list[Any] = [geometry]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [value.get("coordinates"), value.get("geometries")]
        elif isinstance(value, list):
            numbers = [each for each in value[:2] if isinstance(each, int | float) and not isinstance(each, bool)]
            if len(numbers) == 2:
                yield float(numbers[0]), float(numbers[1])
            else:
                waiting.extend(value)
