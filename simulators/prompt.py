"""Decides what a prompt asks for: reads the request and the records out of the last user message.

The form it knows best is one JSON object a line inside `<request>` and `<records>`; failing that it takes JSON
objects found
anywhere in the text, and failing that paragraphs. Refuses to know how the message came here and what is answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder

import orjson

DEFAULT_COUNT = 5
MOST_RECORDS = 200
MOST_TRIES = 1_000
"""How many braces are tried as the start of an object, so that no text costs more than it should."""

_BLOCK = {name: re.compile(rf"<{name}>(.*?)</{name}>", re.DOTALL) for name in ("request", "records")}
_COUNT = re.compile(r"(\d{1,2})\s*(?:items?|places?|recommendations?|results?|개|곳|가지|件|つ|か所)")
_DECODER = JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Something the answer may be about."""

    id: str
    name: str
    facts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a prompt asks for."""

    query: str
    language: str
    """`ko`, `ja` or `en`; anything else is answered in English."""
    count: int
    """At most that many items."""
    records: tuple[Record, ...] = ()
    """Those that may be used, in the prompt's order, without the excluded ones."""
    section: str = ""
    request: Mapping[str, object] = field(default_factory=dict)
    """The request as it was written, empty when there was none."""


def read(text: str) -> Ask:
    """What `text` asks for; never raises, since a model answers any prompt."""
    request = next(_lines_of(text, "request"), {})
    query = str(request.get("query") or _first_line(text))
    excluded = request.get("exclude")
    banned = {str(each) for each in excluded} if isinstance(excluded, list) else set()
    return Ask(
        query=query,
        language=_language(request.get("language"), query),
        count=_count(request.get("count"), text if not request else ""),
        records=tuple(record for record in _records(text) if record.id not in banned)[:MOST_RECORDS],
        section=str(request.get("section") or ""),
        request=request,
    )


def _lines_of(text: str, block: str) -> Iterator[dict[str, object]]:
    found = _BLOCK[block].search(text)
    for line in found.group(1).splitlines() if found else ():
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            yield value


def _records(text: str) -> list[Record]:
    found = [_record(value, place) for place, value in enumerate(_lines_of(text, "records"), 1)]
    if not found and "<records>" not in text:
        found = [_record(value, place) for place, value in enumerate(_objects(text), 1)]
    if not found and "<records>" not in text:
        found = [_paragraph(part, place) for place, part in enumerate(_paragraphs(text), 1)]
    return found


def _record(value: Mapping[str, object], place: int) -> Record:
    """A record of whatever shape: the names and the facts are looked for under the keys people use."""
    name = _pick(value, ("name", "names", "title", "label")) or f"#{place}"
    facts = _pick(value, ("facts", "description", "content", "text", "summary", "body"))
    return Record(id=str(value.get("id") or value.get("url") or f"r{place}"), name=name, facts=facts)


def _pick(value: Mapping[str, object], keys: tuple[str, ...]) -> str:
    for key in keys:
        found = value.get(key)
        if isinstance(found, Mapping):
            found = next(iter(found.values()), None)
        if isinstance(found, list):
            found = ", ".join(map(str, found))
        if found:
            return str(found)
    return ""


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON objects in `text` that look like documents, also those in arrays; nothing is read twice."""
    place, tries = text.find("{"), 0
    while place >= 0 and tries < MOST_TRIES:
        tries += 1
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (JSONDecodeError, RecursionError):
            end = place + 1
        else:
            yield from _documents(value)
        place = text.find("{", end)


def _documents(value: object) -> Iterator[Mapping[str, object]]:
    if isinstance(value, Mapping) and any(key in value for key in ("name", "names", "title", "content", "text")):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            for each in inner if isinstance(inner, list) else ():
                yield from _documents(each)


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", text)[1:]:
        if len(part.strip()) > 40:
            yield part.strip()


def _paragraph(part: str, place: int) -> Record:
    first, _, rest = part.partition("\n")
    return Record(id=f"r{place}", name=first.strip("#*:- ")[:60], facts=rest.strip() or first)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def _language(stated: object, query: str) -> str:
    if isinstance(stated, str) and stated:
        return stated.replace("_", "-").split("-")[0].lower()
    if re.search(r"[가-힣]", query):
        return "ko"
    return "ja" if re.search(r"[ぁ-ヿ]", query) else "en"


def _count(stated: object, text: str) -> int:
    if isinstance(stated, int) and not isinstance(stated, bool) and stated >= 0:
        return stated
    found = _COUNT.search(text)
    return int(found.group(1)) if found else DEFAULT_COUNT
