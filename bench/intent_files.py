"""Public files of labelled utterances, read as (text, intent of the travel domain).

Decides which label of each data set stands for which intent; labels that fit several of them, such as a table booked at
a restaurant, are left out and counted. Three shapes are known:

    SGD     .jsonl, one object a line with ``text`` and ``coarse``, the first user turns of the Schema-Guided Dialogue
            data set with a coarse label each        github.com/google-research-datasets/dstc8-schema-guided-dialogue
    CLINC   .json, an object of lists of [text, label]                            github.com/clinc/oos-eval
    HWU     .tsv, text, scenario and intent by tabs                               github.com/xliuhw/NLU-Evaluation-Data
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

TRIP, LODGING, FLIGHT = "travel_recommendation", "lodging_search", "flight_search"
LOOKUP, GENERAL = "place_lookup", "general_question"
LEFT_OUT = ""

_SGD: Mapping[str, str] = MappingProxyType(
    {
        "travel_recommendation": TRIP,
        "restaurant_search": TRIP,
        "lodging_search": LODGING,
        "lodging_booking": LODGING,
        "flight_search": FLIGHT,
        "flight_booking": FLIGHT,
        "restaurant_booking": LEFT_OUT,
    }
)
_CLINC: Mapping[str, str] = MappingProxyType(
    {
        "travel_suggestion": TRIP,
        "restaurant_suggestion": TRIP,
        "book_hotel": LODGING,
        "book_flight": FLIGHT,
        "flight_status": FLIGHT,
        "restaurant_reviews": LOOKUP,
        "how_busy": LOOKUP,
        "accept_reservations": LOOKUP,
        "restaurant_reservation": LEFT_OUT,
        "confirm_reservation": LEFT_OUT,
        "oos": GENERAL,
    }
)
_HWU: Mapping[str, str] = MappingProxyType({"recommendation locations": TRIP, "transport ticket": LEFT_OUT})


class IntentFileError(ValueError):
    """A file that holds no labelled utterances of a known shape; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One utterance: what was said, the label of its data set, the intent that it should have ("" is left out)."""

    text: str
    label: str
    intent: str


def read(path: Path) -> list[Labelled]:
    """The utterances of a file. Raises IntentFileError, and OSError when it cannot be read."""
    readers = {".jsonl": _sgd, ".json": _clinc, ".tsv": _hwu}
    reader = readers.get(path.suffix)
    if reader is None:
        raise IntentFileError(f"{path}: known are files that end in {', '.join(readers)}")
    try:
        found = list(reader(path.read_text(encoding="utf-8-sig")))
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise IntentFileError(f"{path} has not the shape of a {path.suffix} file of labelled utterances") from fault
    if not found:
        raise IntentFileError(f"{path} holds no utterances")
    return found


def _sgd(content: str) -> Iterator[Labelled]:
    for line in filter(str.strip, content.splitlines()):
        row = json.loads(line)
        yield Labelled(text=row["text"], label=row["coarse"], intent=_SGD.get(row["coarse"], GENERAL))


def _clinc(content: str) -> Iterator[Labelled]:
    for rows in json.loads(content).values():
        for text, label in rows:
            yield Labelled(text=text, label=label, intent=_CLINC.get(label, GENERAL))


def _hwu(content: str) -> Iterator[Labelled]:
    for line in filter(str.strip, content.splitlines()):
        text, scenario, kind = line.split("\t")
        label = f"{scenario} {kind}"
        yield Labelled(text=text, label=label, intent=_HWU.get(label, GENERAL))
