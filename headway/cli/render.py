"""Events of an answer as text for a person, or as one JSON object a line for a program.

Decides how an answer looks. Knows neither the call nor its errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any, Protocol

from google.protobuf.json_format import MessageToJson
from rich import box
from rich.cells import set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.cli.terminal import OutputClosed, harmless, indented, milliseconds
from headway.messages import seconds
from headway.v1 import generator_pb2, item_pb2, ledger_pb2, recommendation_pb2, router_pb2

_CLOCK_COLUMNS = 10
_RAW_CONTROLS = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
_RELATIONS = {
    router_pb2.SLOT_RELATION_AT_MOST: "<=",
    router_pb2.SLOT_RELATION_AT_LEAST: ">=",
    router_pb2.SLOT_RELATION_EXCLUDED: "!=",
}


class Show(Protocol):
    """Shows events as they come."""

    def __call__(self, event: recommendation_pb2.RecommendResponse, after: float, /) -> None:
        """``after``: seconds from the sending of the request to the arrival of the event."""


class Prose:
    """Shows an answer to a person; ``table`` false leaves out the table of where the time went."""

    def __init__(self, to: Console, *, table: bool = True) -> None:
        self._to = to
        self._table = table
        self._label_columns = 0

    def __call__(self, event: recommendation_pb2.RecommendResponse, after: float) -> None:
        kind = event.WhichOneof("event")
        if kind == "plan":
            self._plan(event.plan, after)
        elif kind == "item":
            self._item(event.item, after)
        elif kind == "notice":
            self._line(after, Text(f"{event.notice.stage}: {harmless(event.notice.detail)}", style="yellow"))
        elif kind == "summary":
            self._summary(event.summary, after)

    def _plan(self, plan: recommendation_pb2.Plan, after: float) -> None:
        self._label_columns = max((len(name) for name in plan.sections), default=0) + 3
        self._line(after, taken_for(plan))
        if plan.slots:
            self._detail(said(plan))
        starts = [f"{stage.stage}: {stage.rung}" for stage in plan.stages if stage.rung]
        if starts:
            self._detail(Text(harmless("starts with  " + "  ".join(starts)), style="dim"))

    def _item(self, item: item_pb2.Item, after: float) -> None:
        label = set_cell_size(f"{harmless(item.section)} {item.rank}", max(self._label_columns, 8))
        tier = enum_word(item_pb2.Tier, item.tier)
        self._line(
            after,
            Text.assemble((label, "cyan"), " ", (harmless(item.title), "bold"), ("  " + tier, "dim")),
        )
        for text, style in ((item.body, ""), (item.reason, "italic")):
            if text:
                self._detail(Text(harmless(text), style=style))
        rests_on = [part for part in (item.place.address, *item.sources) if part]
        self._detail(Text(harmless("  ".join(rests_on)), style="dim"))

    def _summary(self, summary: recommendation_pb2.Summary, after: float) -> None:
        self._line(after, Text(totals(summary), style="bold"))
        if summary.HasField("usage") and summary.usage.input_tokens + summary.usage.output_tokens:
            self._detail(Text(tokens_and_cost(summary.usage), style="dim"))
        if self._table:
            self._to.print(ledger(summary.ledger))

    def _line(self, after: float, text: Text) -> None:
        stamp = Text(f"{milliseconds(after):>{_CLOCK_COLUMNS - 2}}  ", style="green")
        # A hanging indent: what wraps stays right of the times.
        row = Table.grid(padding=0)
        row.add_column(width=_CLOCK_COLUMNS, no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(stamp, text)
        self._to.print(row)

    def _detail(self, text: Text) -> None:
        self._to.print(indented(text, _CLOCK_COLUMNS))


class JsonLines:
    """Shows each event as one line of JSON in the protobuf mapping, with the field names of the protos."""

    def __init__(self, to: IO[str]) -> None:
        self._to = to

    def __call__(self, event: recommendation_pb2.RecommendResponse, after: float) -> None:
        text = MessageToJson(event, preserving_proto_field_name=True, indent=None, ensure_ascii=False)
        # JSON allows these unescaped, but some terminals act on them.
        try:
            self._to.write(text.translate(_RAW_CONTROLS) + "\n")
            self._to.flush()
        except BrokenPipeError as closed:
            raise OutputClosed from closed


def taken_for(plan: recommendation_pb2.Plan) -> Text:
    """What the query was taken for, and how long there is for an answer."""
    source = enum_word(recommendation_pb2.DeadlineSource, plan.deadline_source)
    return Text.assemble(
        (harmless(plan.intent) or "no intent", "bold"),
        f" ({plan.confidence:.2f})  {harmless(plan.language)}  up to {plan.max_items} items"
        f"  deadline {milliseconds(seconds(plan.deadline))} ({source})",
    )


def said(plan: recommendation_pb2.Plan) -> Text:
    """What was found in the query."""
    return Text("  ".join(_slot(slot) for slot in plan.slots))


def ledger(stages: Sequence[ledger_pb2.Stage]) -> Table:
    """Where the time went, one row a stage."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    for name in ("started", "allowance", "spent"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("rung")
    table.add_column("attempts", overflow="fold")
    table.add_column("reason", overflow="fold")
    for stage in stages:
        table.add_row(
            Text(harmless(stage.name)),
            milliseconds(seconds(stage.started_after)),
            milliseconds(seconds(stage.allowance)) if stage.HasField("allowance") else "none",
            milliseconds(seconds(stage.spent)),
            Text(harmless(stage.rung)),
            Text("\n".join(_attempt(attempt) for attempt in stage.attempts)),
            Text(harmless(stage.reason)),
        )
    return table


def enum_word(enum: Any, number: int) -> str:
    """An enum value as words, without the prefix that its enum shares; the number when a newer peer sent it."""
    if number not in enum.values():
        return str(number)
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return str(enum.Name(number)).removeprefix(prefix).replace("_", " ").lower()


def _slot(slot: router_pb2.Slot) -> str:
    value = " ".join(part for part in (slot.value, slot.unit) if part)
    return harmless(f"{slot.name}{_RELATIONS.get(slot.relation, '=')}{value}")


def _attempt(attempt: ledger_pb2.Attempt) -> str:
    who = "/".join(part for part in (attempt.backend, attempt.model) if part)
    first = f", first token {milliseconds(seconds(attempt.ttft))}" if attempt.HasField("ttft") else ""
    return harmless(f"{who} {attempt.outcome} {milliseconds(seconds(attempt.spent))}{first}")


def totals(summary: recommendation_pb2.Summary) -> str:
    """How the answer ended, and its times."""
    parts = [
        f"{summary.items} item{'' if summary.items == 1 else 's'}",
        enum_word(generator_pb2.FinishReason, summary.finish_reason),
    ]
    for name, field in (("first token", "ttft"), ("first item", "ttf_item")):
        if summary.HasField(field):  # type: ignore[arg-type]  # the two names above
            parts.append(f"{name} {milliseconds(seconds(getattr(summary, field)))}")
    parts.append(f"whole {milliseconds(seconds(summary.total))}")
    parts.append(f"cache {enum_word(recommendation_pb2.CacheResult, summary.cache)}")
    return ", ".join(parts)


def tokens_and_cost(usage: ledger_pb2.Usage) -> str:
    """What the answer cost."""
    return (
        f"{usage.input_tokens} input tokens ({usage.cache_read_tokens} read from the provider's cache, "
        f"{usage.cache_write_tokens} written to it), {usage.output_tokens} output tokens, ${usage.cost_usd:.4f}"
    )
