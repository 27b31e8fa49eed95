"""The flow of one request: router, retrieval, one generator stream per piece, items forwarded as they come.

Decides order and overlap, and what happens at deadline minus reserve: whatever is missing then is written on the
floor. How time and items are divided is decided by ``policy``; what a message looks like is known to ``service`` and
``neighbours``.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from headway.budget import Tier
from headway.domain import Domain
from headway.errors import FieldViolation, HeadwayError, Reason, invalid
from headway.ledger import Degraded, Finish, Stage, total_usage
from headway.request import RequestScope, within
from headway.slots import Slot
from services.orchestrator import policy
from services.orchestrator.account import Account, PlannedStage, not_a_recommendation, unsupported_language
from services.orchestrator.neighbours import (
    Found,
    Item,
    NeighbourFailed,
    Neighbours,
    Record,
    RetrievalPlan,
    RetrievalWish,
    Retrieved,
    Routed,
)
from services.orchestrator.outlet import Outlet, PlanValue, Query, SummaryValue
from services.orchestrator.piece import Piece, Writing, write
from services.orchestrator.shelf import Shelf

Floor = Callable[[Sequence[Record], Sequence[int], str, str], list[Item]]
"""Writes items about records without any model: (records, ranks, language, section)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the answers of one process share."""

    domain: Domain
    neighbours: Neighbours
    priors: policy.Priors
    records_per_item: int
    items_per_piece: int
    floor: Floor


class Answer:
    """One request from arrival to summary. Use once: ``await Answer(...).give()``."""

    def __init__(self, query: Query, parts: Parts, scope: RequestScope, outlet: Outlet) -> None:
        self._query = query
        self._parts = parts
        self._scope = scope
        self._outlet = outlet
        self._context = contextvars.copy_context()
        self._account = Account()
        self._routed = Routed(language=policy.UNDETERMINED, intent="", confidence=0.0)
        self._language = "en"
        self._sections: tuple[str, ...] = ()
        self._shelf = Shelf(per_item=parts.records_per_item, per_piece=parts.items_per_piece)
        self._failed: NeighbourFailed | None = None
        self._understood = False
        self._plan_sent = False
        self._waiting_notices: list[Degraded] = []
        self._plans_expected = 0

    async def give(self) -> None:
        """Streams the answer to the outlet. Raises HeadwayError when there is nothing to recommend from."""
        _refuse_unknown_sections(self._query.sections, self._parts.domain)
        limit = asyncio.timeout(max(0.0, self._remaining() - self._scope.reserve()))
        try:
            async with limit:
                await self._run()
        except TimeoutError:
            if not limit.expired():
                raise
            self._account.endings.append(Finish.DEADLINE)
        await self._conclude()

    async def _run(self) -> None:
        await self._route()
        intent = self._parts.domain.intent(self._routed.intent)
        self._understood = True
        if not intent.recommends:
            text = intent.notices.get(self._language) or intent.notices.get("en", "")
            await self._own_notice(not_a_recommendation(intent.name, text))
            return
        self._sections = policy.chosen_sections(
            asked=self._query.sections,
            slots=self._routed.slots,
            intent=intent.sections,
            domain=self._parts.domain.section_names(),
        )
        async with asyncio.TaskGroup() as tasks:
            await self._retrieve(tasks)

    async def _route(self) -> None:
        domain, scope = self._parts.domain, self._scope
        started = scope.spent()
        allowance = policy.router_allowance(self._parts.priors, remaining=self._remaining(), reserve=scope.reserve())
        rung, reason = "classified", ""
        try:
            with within("router", {"headway.allowance": allowance}):
                neighbours = self._parts.neighbours
                self._routed = await neighbours.route(self._query.text, self._query.locale, timeout=allowance)
        except NeighbourFailed as failure:
            # Without the router every query counts as a recommendation; retrieval embeds the query itself.
            first = next(intent for intent in domain.intents if intent.recommends)
            guessed = policy.language_by_script(self._query.text)
            self._routed = Routed(language=guessed, intent=first.name, confidence=0.0)
            rung, reason = "assumed", failure.detail
            await self._own_notice(failure.degraded())
        self._language = policy.answer_language(
            locale=self._query.locale, query_language=self._routed.language, supported=domain.languages
        )
        self._account.planned.append(PlannedStage(stage="router", rung=rung, reason=reason))
        spent = scope.spent() - started
        stage = Stage(name="router", allowance=allowance, spent=spent, rung=rung, reason=reason, started_after=started)
        if rung == "assumed":
            self._account.add_own(stage)
        else:
            self._account.add_stages([stage], offset=0.0)
        if self._routed.unsupported_language:
            await self._own_notice(unsupported_language(self._routed.language, self._language))

    async def _retrieve(self, tasks: asyncio.TaskGroup) -> None:
        """Reads retrieval and starts pieces as records come; asks once more when it fails before any record came.

        The web is asked when some item waits for it, and otherwise only when the catalogue has nothing: an answer must
        not wait for results that it has no place for.
        """
        web = policy.web_is_awaited(self._divided(web_expected=True))
        if await self._tried_retrieval(tasks, web=web) and self._shelf.empty() and not web:
            await self._tried_retrieval(tasks, web=True)

    async def _tried_retrieval(self, tasks: asyncio.TaskGroup, *, web: bool) -> bool:
        """True when retrieval went to its end, at the first or the second try."""
        cap: float | None = None
        for _ in range(2):
            try:
                await self._one_retrieval(tasks, cap, web=web)
                return True
            except NeighbourFailed as failure:
                self._failed = failure
                await self._own_notice(failure.degraded())
            if self._shelf.pieces:
                break
            cap = self._remaining()
        self._start(tasks, self._shelf.held_back(()))
        return False

    async def _one_retrieval(self, tasks: asyncio.TaskGroup, cap: float | None, *, web: bool) -> None:
        scope, priors = self._scope, self._parts.priors
        remaining, reserve, started = self._remaining(), scope.reserve(), scope.spent()
        web_within = policy.web_allowance(priors, remaining=remaining, reserve=reserve) if web else 0.0
        internal_within = policy.retrieval_allowance(priors, remaining=remaining, reserve=reserve)
        if cap is not None:
            internal_within = max(internal_within, cap - reserve - priors.generator_floor)
        if internal_within <= 0:
            raise NeighbourFailed("retrieval", "no time was left for retrieval", timed_out=True, reason="")
        wish = self._retrieval_wish(web_within)
        web_pending = web_within > 0
        limit = asyncio.timeout(internal_within)
        try:
            with within("retrieval", {"headway.allowance": internal_within}):
                async with (
                    limit,
                    aclosing(self._parts.neighbours.retrieve(wish, timeout=remaining - reserve)) as events,
                ):
                    async for event in events:
                        if isinstance(event, RetrievalPlan):
                            web_pending = web_pending and event.web_rung != "none"
                            self._planned_retrieval(event, web_expected=web_pending)
                        elif isinstance(event, Found) and not event.web:
                            limit.reschedule(None)  # from here on the web's own allowance and the deadline hold
                            self._start(tasks, self._shelf.internal(event.records))
                        elif isinstance(event, Found):
                            self._start(tasks, self._shelf.held_back(event.records))
                            web_pending = False
                        elif isinstance(event, Degraded):
                            await self._notice(event)
                        elif isinstance(event, Retrieved):
                            self._account.add_stages(event.stages, offset=started)
        except TimeoutError:
            if not limit.expired():
                raise
            raise NeighbourFailed("retrieval", "retrieval used up its allowance", timed_out=True, reason="") from None
        if web_pending:
            self._start(tasks, self._shelf.held_back(()))

    def _retrieval_wish(self, web_within: float) -> RetrievalWish:
        most = max((wish.total for wish in self._divided(web_expected=False)), default=1)
        return RetrievalWish(
            query=self._query.text,
            language=self._language,
            routed=self._routed,
            sections=self._sections,
            per_section=min(50, max(4, most * self._parts.records_per_item)),
            web_within=web_within,
        )

    def _divided(self, *, web_expected: bool) -> tuple[policy.Wish, ...]:
        return policy.divided(self._sections, max_items=self._query.max_items, web_expected=web_expected)

    def _planned_retrieval(self, plan: RetrievalPlan, *, web_expected: bool) -> None:
        self._shelf.wishes = self._divided(web_expected=web_expected)
        stages = (("retrieval.internal", plan.internal_rung), ("retrieval.web", plan.web_rung))
        self._account.planned.extend(PlannedStage(stage=name, rung=rung, reason=plan.reason) for name, rung in stages)

    def _start(self, tasks: asyncio.TaskGroup, pieces: Sequence[Piece]) -> None:
        self._plans_expected += len(pieces)
        for piece in pieces:
            # In the context of the request, not in that of retrieval, which is where records come in.
            tasks.create_task(
                write(piece, self._writing()),
                name=f"piece.{piece.section}.{piece.ranks[0]}",
                context=self._context.copy(),
            )

    def _writing(self) -> Writing:
        slots: tuple[Slot, ...] = self._routed.slots
        return Writing(
            query=self._query.text,
            language=self._language,
            slots=slots,
            complexity=self._routed.complexity,
            scope=self._scope,
            priors=self._parts.priors,
            neighbours=self._parts.neighbours,
            account=self._account,
            send_item=self._item,
            send_notice=self._notice,
            send_own_notice=self._own_notice,
            plan_known=self._generator_planned,
        )

    async def _generator_planned(self, planned: PlannedStage) -> None:
        self._account.planned.append(planned)
        self._plans_expected -= 1
        if self._plans_expected <= 0:
            await self._send_plan()

    async def _send_plan(self) -> None:
        """Sends the plan, once, as soon as every piece has said its rung or at the latest before a first item."""
        if self._plan_sent:
            return
        self._plan_sent = True
        await self._outlet.plan(
            PlanValue(
                routed=self._routed,
                language=self._language,
                sections=self._sections,
                stages=tuple(self._account.planned),
                max_items=self._query.max_items,
            )
        )
        for degraded in self._waiting_notices:
            await self._outlet.notice(degraded)

    async def _notice(self, degraded: Degraded) -> None:
        if self._plan_sent:
            await self._outlet.notice(degraded)
        else:
            self._waiting_notices.append(degraded)

    async def _own_notice(self, degraded: Degraded) -> None:
        """A notice of what this service found out or decided; neighbours have counted theirs."""
        self._scope.record_degraded(degraded)
        await self._notice(degraded)

    async def _item(self, item: Item) -> None:
        await self._send_plan()
        item.item_id = f"{item.section}-{item.rank}"
        self._account.sent_item(item.section, item.rank, item.sources, at=self._scope.spent())
        await self._outlet.item(item)

    async def _conclude(self) -> None:
        """Fills up on the floor, then sends the summary. Raises HeadwayError when there was nothing to write about."""
        if not self._understood or (self._sections and self._shelf.empty()):
            raise self._nothing()
        if self._scope.budget.allows(Tier.EXTRACTIVE):
            for wish in self._shelf.wishes:
                await self._fill(wish)
        await self._send_plan()
        await self._outlet.summary(self._summary())

    def _summary(self) -> SummaryValue:
        account = self._account
        return SummaryValue(
            finish=account.finish(wanted=self._query.max_items),
            items=account.items,
            ttft=account.first_token,
            ttf_item=account.first_item,
            total=self._scope.spent(),
            usage=total_usage(account.stages),
            ledger=account.ledger(),
            own=tuple(account.own),
        )

    async def _fill(self, wish: policy.Wish) -> None:
        """Writes what is missing of a section from records that no item rests on yet."""
        taken = self._account.ranks[wish.section]
        used = self._account.used_sources
        free = [rank for rank in range(1, wish.total + 1) if rank not in taken]
        unused = [record for record in self._shelf.of_section(wish.section) if record.record_id not in used]
        if not free or not unused:
            return
        started = self._scope.spent()
        for item in self._parts.floor(unused, free, self._language, wish.section):
            await self._item(item)
        self._account.add_own(
            Stage(
                name=f"floor.{wish.section}",
                spent=self._scope.spent() - started,
                rung="extractive",
                reason="filled what no model had written by then",
                started_after=started,
            )
        )

    def _nothing(self) -> HeadwayError:
        failed = self._failed
        late = Finish.DEADLINE in self._account.endings or (failed is not None and failed.timed_out)
        if late:
            return HeadwayError(
                Reason.DEADLINE_EXPIRED,
                "the deadline passed before any record was found; allow more time",
                spent_ms=round(self._scope.spent() * 1e3),
            )
        if failed is None:
            return HeadwayError(
                Reason.NOTHING_FOUND,
                "no record fits the query; name another place, or import a catalogue that holds it",
                language=self._language,
            )
        return HeadwayError(
            Reason.UPSTREAM_UNAVAILABLE,
            f"nothing to recommend from: {failed.detail}",
            retry_after=1.0,
            stage=failed.stage,
        )

    def _remaining(self) -> float:
        return self._scope.deadline.remaining()


def _refuse_unknown_sections(asked: Sequence[str], domain: Domain) -> None:
    known = domain.section_names()
    violations = [
        FieldViolation(f"sections[{index}]", f"{name!r} is not one of {', '.join(known)}")
        for index, name in enumerate(asked)
        if name not in known
    ]
    if violations:
        raise invalid(violations)
