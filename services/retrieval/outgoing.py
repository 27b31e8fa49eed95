"""Records and accounts of retrieval as messages.

Decides which value goes into which field, and that a record which was sent before is not put together again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from google.protobuf.struct_pb2 import Struct

from headway.catalogue.record import Record, in_language
from headway.domain import Domain
from headway.ledger import Degraded, Stage
from headway.messages import duration, notice_to_message, stage_to_message
from headway.v1 import item_pb2, retrieval_pb2
from services.retrieval.facts import attributes, facts
from services.retrieval.policy import Plan, WebChoice
from services.retrieval.search import Hit
from services.retrieval.web.results import SectionWords, WebResult


def plan_event(plan: Plan, adapter: str) -> retrieval_pb2.RetrieveResponse:
    """The first message."""
    asked = plan.web is WebChoice.ASKED
    message = retrieval_pb2.RetrievePlan(
        internal_rung=plan.rung.value, web_rung=adapter if asked else "none", reason=plan.reason
    )
    if asked:
        message.web_allowance.CopyFrom(duration(plan.web_allowance))
    return retrieval_pb2.RetrieveResponse(plan=message)


class RecordMessages:
    """Messages of catalogue records by language; the ``most`` that were asked for last are kept."""

    def __init__(self, domain: Domain, *, most: int = 8192) -> None:
        self._domain = domain
        self._most = most
        self._kept: OrderedDict[tuple[str, str], retrieval_pb2.Record] = OrderedDict()

    def of(self, hit: Hit, language: str) -> retrieval_pb2.Record:
        """A message of its own for a hit."""
        key = hit.record.id, language
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _internal(hit.record, self._domain, language)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        message = retrieval_pb2.Record(section=hit.section, score=hit.score)
        message.MergeFrom(kept)
        return message


def internal_event(hits: Iterable[Hit], messages: RecordMessages, language: str) -> retrieval_pb2.RetrieveResponse:
    """The batch of internal records, which may be empty."""
    records = [messages.of(hit, language) for hit in hits]
    batch = retrieval_pb2.RecordBatch(origin=retrieval_pb2.ORIGIN_INTERNAL, records=records)
    return retrieval_pb2.RetrieveResponse(records=batch)


def web_event(
    results: Iterable[WebResult], words: SectionWords, sections: Sequence[str], query: str
) -> retrieval_pb2.RetrieveResponse:
    """The batch of web records, which may be empty; pages that are evidently for other sections are left out."""
    placed = [(result, words.section_of(result, sections, query)) for result in results]
    records = [_web(result, section) for result, section in placed if section is not None]
    return retrieval_pb2.RetrieveResponse(
        records=retrieval_pb2.RecordBatch(origin=retrieval_pb2.ORIGIN_WEB, records=records)
    )


def notice_event(degraded: Degraded) -> retrieval_pb2.RetrieveResponse:
    """A degradation."""
    return retrieval_pb2.RetrieveResponse(notice=notice_to_message(degraded))


def summary_event(
    internal: int, web: int, given_up: Iterable[str], stages: Iterable[Stage]
) -> retrieval_pb2.RetrieveResponse:
    """The last message."""
    summary = retrieval_pb2.RetrieveSummary(
        internal_records=internal,
        web_records=web,
        relaxed_filters=list(given_up),
        stages=[stage_to_message(stage) for stage in stages],
    )
    return retrieval_pb2.RetrieveResponse(summary=summary)


def _internal(record: Record, domain: Domain, language: str) -> retrieval_pb2.Record:
    return retrieval_pb2.Record(
        record_id=record.id,
        kind=record.kind,
        name=in_language(record.names, language),
        description=in_language(record.description, language),
        facts=facts(record, domain, language),
        place=_place(record, language),
        attributes=_struct(attributes(record)),
        url=record.url,
        origin=retrieval_pb2.ORIGIN_INTERNAL,
    )


def _place(record: Record, language: str) -> item_pb2.Place:
    return item_pb2.Place(
        latitude=record.lat,
        longitude=record.lon,
        address=in_language(record.area, language),
        city=record.city,
        country=record.country,
    )


def _web(result: WebResult, section: str) -> retrieval_pb2.Record:
    site = urlsplit(result.url).hostname or ""
    return retrieval_pb2.Record(
        record_id=result.url,
        section=section,
        kind="web",
        name=result.title,
        description=result.text,
        facts=" · ".join(part for part in (site, result.text) if part),
        attributes=_struct({"site": site}),
        url=result.url,
        score=result.score,
        origin=retrieval_pb2.ORIGIN_WEB,
    )


def _struct(values: dict[str, Any]) -> Struct:
    struct = Struct()
    struct.update(values)
    return struct
