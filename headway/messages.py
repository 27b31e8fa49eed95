"""Values of the mesh to messages of ``headway.v1`` and back.

The one place for what more than one service converts. Decides nothing.
"""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration

from headway.budget import Budget, Criticality, Tier
from headway.ledger import Attempt, Degraded, Stage, Usage
from headway.records import Draft, Record
from headway.slots import Relation, Slot
from headway.v1 import budget_pb2, item_pb2, ledger_pb2, retrieval_pb2, router_pb2


def duration(seconds: float) -> Duration:
    """A Duration of that many seconds, to the nanosecond."""
    message = Duration()
    message.FromNanoseconds(round(seconds * 1e9))
    return message


def seconds(message: Duration) -> float:
    """Seconds of a Duration."""
    return message.seconds + message.nanos / 1e9


def budget_to_message(budget: Budget) -> budget_pb2.Budget:
    message = budget_pb2.Budget(
        criticality=budget.criticality.value,  # type: ignore[arg-type]  # the numbers are the same by contract
        floor_tier=budget.floor_tier.value,  # type: ignore[arg-type]
        ceiling_tier=budget.ceiling_tier.value,  # type: ignore[arg-type]
        attempt=budget.attempt,
        hedge=budget.hedge,
        request_id=budget.request_id,
        tenant=budget.tenant,
    )
    if budget.first_item_within is not None:
        message.first_item_within.CopyFrom(duration(budget.first_item_within))
    if budget.reserve is not None:
        message.reserve.CopyFrom(duration(budget.reserve))
    return message


def budget_from_message(message: budget_pb2.Budget) -> Budget:
    """Unknown enum numbers, which a newer sender may use, count as not stated."""
    return Budget(
        first_item_within=seconds(message.first_item_within) if message.HasField("first_item_within") else None,
        reserve=seconds(message.reserve) if message.HasField("reserve") else None,
        criticality=_criticality_from_number(message.criticality),
        floor_tier=tier_from_number(message.floor_tier),
        ceiling_tier=tier_from_number(message.ceiling_tier),
        attempt=max(1, message.attempt),
        hedge=message.hedge,
        request_id=message.request_id,
        tenant=message.tenant,
    )


def tier_from_number(number: int) -> Tier:
    """The tier of that number; unknown numbers count as not stated."""
    return Tier(number) if number in list(Tier) else Tier.UNSPECIFIED


def _criticality_from_number(number: int) -> Criticality:
    return Criticality(number) if number in list(Criticality) else Criticality.UNSPECIFIED


def slot_to_message(slot: Slot) -> router_pb2.Slot:
    return router_pb2.Slot(
        name=slot.name,
        value=slot.value,
        text=slot.text,
        relation=slot.relation.value,  # type: ignore[arg-type]  # the numbers are the same by contract
        number=slot.number,
        unit=slot.unit,
    )


def slot_from_message(message: router_pb2.Slot) -> Slot:
    """An unset or unknown relation counts as EQUAL."""
    number: int = message.relation
    relation = Relation(number) if number in list(Relation) else Relation.EQUAL
    return Slot(
        name=message.name,
        value=message.value,
        text=message.text,
        relation=Relation.EQUAL if relation is Relation.UNSPECIFIED else relation,
        number=message.number if message.HasField("number") else None,
        unit=message.unit,
    )


def usage_to_message(usage: Usage) -> ledger_pb2.Usage:
    return ledger_pb2.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_usd=usage.cost_usd,
    )


def usage_from_message(message: ledger_pb2.Usage) -> Usage:
    return Usage(
        input_tokens=message.input_tokens,
        output_tokens=message.output_tokens,
        cache_read_tokens=message.cache_read_tokens,
        cache_write_tokens=message.cache_write_tokens,
        cost_usd=message.cost_usd,
    )


def notice_to_message(degraded: Degraded) -> ledger_pb2.Notice:
    return ledger_pb2.Notice(
        stage=degraded.stage,
        reason=degraded.reason.value,  # type: ignore[arg-type]  # the numbers are the same by contract
        detail=degraded.detail,
    )


def stage_to_message(stage: Stage) -> ledger_pb2.Stage:
    return ledger_pb2.Stage(
        name=stage.name,
        allowance=None if stage.allowance is None else duration(stage.allowance),
        spent=duration(stage.spent),
        rung=stage.rung,
        reason=stage.reason,
        attempts=[_attempt_to_message(attempt) for attempt in stage.attempts],
        started_after=duration(stage.started_after),
    )


def stage_from_message(message: ledger_pb2.Stage) -> Stage:
    return Stage(
        name=message.name,
        allowance=seconds(message.allowance) if message.HasField("allowance") else None,
        spent=seconds(message.spent),
        rung=message.rung,
        reason=message.reason,
        attempts=tuple(_attempt_from_message(attempt) for attempt in message.attempts),
        started_after=seconds(message.started_after),
    )


def _attempt_to_message(attempt: Attempt) -> ledger_pb2.Attempt:
    return ledger_pb2.Attempt(
        backend=attempt.backend,
        model=attempt.model,
        outcome=attempt.outcome,
        spent=duration(attempt.spent),
        ttft=None if attempt.ttft is None else duration(attempt.ttft),
        usage=usage_to_message(attempt.usage),
        started_after=duration(attempt.started_after),
    )


def _attempt_from_message(message: ledger_pb2.Attempt) -> Attempt:
    return Attempt(
        backend=message.backend,
        model=message.model,
        outcome=message.outcome,
        spent=seconds(message.spent),
        ttft=seconds(message.ttft) if message.HasField("ttft") else None,
        usage=usage_from_message(message.usage),
        started_after=seconds(message.started_after),
    )


def record_from_message(message: retrieval_pb2.Record) -> Record:
    """What writing an item needs of a record."""
    return Record(
        id=message.record_id,
        name=message.name,
        facts=message.facts,
        description=message.description,
        address=message.place.address,
    )


def item_to_message(
    draft: Draft, tier: Tier, record: retrieval_pb2.Record, *, section: str, rank: int
) -> item_pb2.Item:
    """The item; place and attributes are those of its main record, not of whoever wrote it."""
    item = item_pb2.Item(
        item_id=f"{section}-{rank}",
        section=section,
        rank=rank,
        title=draft.title,
        body=draft.body,
        reason=draft.reason,
        sources=draft.sources,
        tier=tier.value,  # type: ignore[arg-type]  # the numbers are the same by contract
    )
    if record.HasField("place"):
        item.place.CopyFrom(record.place)
    if record.HasField("attributes"):
        item.attributes.CopyFrom(record.attributes)
    for name, value in draft.extra.items():
        item.attributes[name] = value
    return item
