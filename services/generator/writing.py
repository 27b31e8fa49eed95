"""From a request to its items: attempts on one rung after the other, then the floor.

Decides the order of things: choose, ask, and when an attempt failed, ask the rest of another rung while time
allows; what is missing in the end the floor writes, if the budget welcomes it. What is out stays out and is never
asked for again. Knows no message and no SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from headway import floor
from headway.budget import Budget, Tier
from headway.deadline import Clock, Deadline
from headway.domain import Domain
from headway.ledger import Attempt, Degradation, Degraded, Finish, Stage, Usage
from headway.records import Draft, Record
from headway.slots import Slot
from services.generator import policy, prompt
from services.generator.attempt import Limits, Reading, Result
from services.generator.drafts import Intake
from services.generator.item_length import ItemLength
from services.generator.ladder import Key, Ladder
from services.generator.policy import Choice, Complexity, Rung, Situation
from services.generator.prompt_cache import PromptCacheWatch
from services.generator.repair import repair_of
from services.generator.schema_check import compiled
from services.generator.upstream import DEGRADATIONS, Call, Failure, Stop

MOST_ATTEMPTS = 4
MOST_FAILURES_OF_A_CONNECTION = 2
"""A connection that breaks before anything came may have been a stale one: the same rung is asked once more."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is to be written. ``limit`` is the deadline less the reserve, ``arrived`` a reading of the clock;
    ``first_item_within`` is in seconds from now, None: no wish; ``given`` are ids of records that were written
    about already."""

    query: str
    language: str
    section: str
    slots: Sequence[Slot]
    records: Sequence[Record]
    given: frozenset[str]
    count: int
    complexity: Complexity
    budget: Budget
    limit: Deadline
    arrived: float
    first_item_within: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of it. ``ttft`` is counted from the arrival of the request; ``stages`` hold all attempts with
    their usage and cost."""

    finish: Finish
    items: int
    dropped: int
    ttft: float | None
    stages: tuple[Stage, ...]


class Outlet(Protocol):
    """Where items go the moment they are complete."""

    async def item(self, draft: Draft, tier: Tier) -> None:
        """Sends one item on."""

    async def notice(self, degraded: Degraded) -> None:
        """Says what was given up."""

    def prompt(self, message: str) -> None:
        """Told of the varying part of what a model is about to be asked."""


class Desk:
    """What writing needs and all requests share: the ladder, the prompts of the domain, the floor's phrases."""

    def __init__(
        self,
        *,
        ladder: Ladder,
        domain: Domain,
        phrases: Mapping[str, floor.Phrases],
        clock: Clock,
        lost: Callable[[str], None],
    ) -> None:
        """``lost`` is told the backend that could not be reached."""
        self.ladder = ladder
        self.lost = lost
        self.phrases = phrases
        self.clock = clock
        self.item_length = ItemLength()
        self.prompt_cache = PromptCacheWatch()
        self.check = compiled(domain.item_schema)
        self.repair = repair_of(domain.item_schema)
        self.fields = tuple(domain.item_schema.get("properties", {}))
        self.prefixes = {structured: prompt.prefix(domain, structured=structured) for structured in (True, False)}

    def plan(self, ask: Ask) -> Choice:
        """What the writing of that request will begin with."""
        return self.choose(ask, _usable(ask), self.item_length.tokens(ask.language), without=frozenset())

    def choose(self, ask: Ask, count: int, item_tokens: float, *, without: frozenset[Key]) -> Choice:
        """The rung for ``count`` items of so many tokens now."""
        situation = Situation(
            time_left=ask.limit.remaining(),
            count=count,
            item_tokens=item_tokens,
            complexity=ask.complexity,
            budget=ask.budget,
            first_item_within=ask.first_item_within,
        )
        return policy.choose(self.ladder.rungs(without=without), situation)

    async def write(self, ask: Ask, choice: Choice, outlet: Outlet) -> Report:
        """Writes the items of a request, beginning with ``choice``. Ends before the limit, whatever providers do."""
        return await _Writing(self, ask, outlet).run(choice)


class _Writing:
    """One request being written."""

    def __init__(self, desk: Desk, ask: Ask, outlet: Outlet) -> None:
        self._desk = desk
        self._ask = ask
        self._outlet = outlet
        self._count = _usable(ask)
        self._aliases = prompt.aliased(
            [record for record in ask.records if record.id not in ask.given], count=self._count
        )
        self._intake = Intake(check=desk.check, aliases=self._aliases, given=ask.given)
        self._items = 0
        self._by_models = 0
        self._dropped = 0
        self._without: frozenset[Key] = frozenset()
        self._broken_connections: dict[Key, int] = {}
        self._attempts: list[Attempt] = []
        self._switched_off = False
        self._reason = ""
        self._rung = "extractive"
        self._out_of_time = False
        self._began = desk.clock()
        self._allowance = ask.limit.remaining()
        self._chose_fewer = False
        self._ttft: float | None = None
        self._item_tokens = desk.item_length.tokens(ask.language)

    @property
    def _missing(self) -> int:
        return self._count - self._items

    async def run(self, choice: Choice) -> Report:
        self._reason = choice.reason
        while self._missing > 0 and choice.rung is not None:
            self._rung, self._reason = choice.rung.name, choice.reason
            result = await self._attempt(choice.rung, choice.max_tokens)
            if not await self._goes_on(choice.rung, result):
                break
            choice = self._desk.choose(self._ask, self._missing, self._item_tokens, without=self._without)
        if self._missing > 0 and choice.rung is None:
            await self._say_why_no_model(choice)
        stages = [self._stage()]
        if self._missing > 0 and not self._chose_fewer:
            stages += await self._fill()
        return Report(
            finish=self._finish(),
            items=self._items,
            dropped=self._dropped,
            ttft=self._ttft,
            stages=tuple(stages),
        )

    async def _attempt(self, rung: Rung, max_tokens: int) -> Result:
        desk, ask = self._desk, self._ask
        writer = desk.ladder.writer(rung)
        prefix = desk.prefixes[writer.model.structured_output]
        left = ask.limit.remaining()
        call = Call(
            model=rung.model,
            prefix=prefix.text,
            message=prompt.message(
                prompt.Wish(query=ask.query, language=ask.language, section=ask.section, slots=ask.slots),
                self._aliases,
                count=self._missing,
                given=self._intake.given,
            ),
            max_tokens=max_tokens,
            timeout=left,
            cache_key=prefix.cache_key,
            schema=prefix.schema,
            limit_field=writer.model.limit_field,
            vendor_options=writer.model.vendor_options,
            effort=writer.model.effort,
        )
        self._outlet.prompt(call.message)
        others = [each for each in desk.ladder.rungs(without=self._without) if each != rung and self._may(each)]
        limits = Limits(
            first_within=policy.first_content_wait(rung, others, time_left=left, item_tokens=self._item_tokens),
            silence=policy.silence_limit(rung),
            instant=ask.limit.instant - policy.FLOOR_COST,
        )
        expected_cached = desk.ladder.expects_cached(rung)
        reading = Reading(
            call=call,
            rung=rung,
            intake=self._intake,
            fields=desk.fields,
            repair=desk.repair,
            wanted=self._missing,
            item_tokens=self._item_tokens,
            emit=lambda draft: self._send(draft, rung.tier),
            clock=desk.clock,
        )
        began = desk.clock()
        result = await reading.run(writer.provider, limits)
        if self._ttft is None and result.attempt.ttft is not None:
            self._ttft = began - ask.arrived + result.attempt.ttft
        usage = replace(result.attempt.usage, cost_usd=writer.model.prices.cost(result.attempt.usage))
        if result.usage_told:
            self._note_cache(rung, usage, expected=expected_cached)
        if result.repaired:
            log.info("items repaired", backend=rung.backend, model=rung.model, items=result.repaired)
        if result.stop is Stop.END:
            items = result.items + result.dropped
            desk.item_length.saw(ask.language, tokens=usage.output_tokens, items=items)
        self._attempts.append(replace(result.attempt, usage=usage, started_after=began - self._began))
        self._dropped += result.dropped
        return result

    def _may(self, rung: Rung) -> bool:
        return self._ask.budget.allows(rung.tier)

    async def _send(self, draft: Draft, tier: Tier) -> None:
        self._items += 1
        self._by_models += tier is not Tier.EXTRACTIVE
        await self._outlet.item(draft, tier)

    def _note_cache(self, rung: Rung, usage: Usage, *, expected: bool) -> None:
        if usage.cache_read_tokens or usage.cache_write_tokens:
            self._desk.ladder.note_cached(rung)
        self._desk.prompt_cache.saw(rung.backend, rung.model, usage, expected=expected)

    async def _goes_on(self, rung: Rung, result: Result) -> bool:
        """Whether another rung is to be asked for the rest; says what went wrong."""
        if self._missing <= 0:
            return False
        if result.stop is Stop.MAX_TOKENS:
            # Items are longer here than was expected, so more tokens are allowed for the rest.
            self._item_tokens *= 2
            return len(self._attempts) < MOST_ATTEMPTS
        if result.error is None:
            return await self._after_a_good_end(rung, result)
        self._desk.ladder.note_failure(rung, result.error)
        await self._degrade(DEGRADATIONS[result.error.failure], f"{rung.backend} {rung.model}: {result.error}")
        if result.stopped:
            self._out_of_time = True
            return False
        key = (rung.backend, rung.model)
        broken = self._broken_connections.get(key, 0) + (result.error.failure is Failure.CONNECTION)
        self._broken_connections[key] = broken
        if broken >= MOST_FAILURES_OF_A_CONNECTION:
            self._desk.lost(rung.backend)
        if result.error.failure is not Failure.CONNECTION or broken >= MOST_FAILURES_OF_A_CONNECTION:
            self._without |= self._desk.ladder.concerned(rung, result.error.failure)
        return len(self._attempts) < MOST_ATTEMPTS

    async def _after_a_good_end(self, rung: Rung, result: Result) -> bool:
        if result.stopped:
            self._out_of_time = True
            await self._degrade(Degradation.OUT_OF_TIME, "stopped after an item: the next one would have come too late")
            return False
        if result.dropped:
            await self._degrade(
                Degradation.INVALID_OUTPUT, f"{rung.backend} {rung.model}: {result.dropped} items could not be used"
            )
            return False
        self._chose_fewer = True
        return False

    async def _degrade(self, reason: Degradation, detail: str) -> None:
        await self._outlet.notice(Degraded(stage=self._stage_name("generator"), reason=reason, detail=detail))

    async def _say_why_no_model(self, choice: Choice) -> None:
        """The reason why no (further) model is asked, unless an attempt has said it already."""
        if self._attempts:
            self._reason = choice.reason
            left = self._desk.ladder.rungs(without=self._without)
            self._out_of_time = self._out_of_time or any(map(self._may, left))
            return
        left = self._desk.ladder.rungs()
        if not left:
            shut = self._desk.ladder.shut_because()
            why = DEGRADATIONS[shut] if shut is not None else Degradation.UPSTREAM_UNAVAILABLE
            await self._degrade(why, choice.reason)
        elif not any(map(self._may, left)):
            self._switched_off = True
            await self._degrade(Degradation.SWITCHED_OFF, choice.reason)
        else:
            self._out_of_time = True
            await self._degrade(Degradation.OUT_OF_TIME, choice.reason)

    async def _fill(self) -> list[Stage]:
        """What is missing, from the floor, when the budget welcomes it."""
        if not self._ask.budget.allows(Tier.EXTRACTIVE):
            return []
        began = self._desk.clock()
        drafts = floor.write(
            self._ask.records,
            count=self._missing,
            language=self._ask.language,
            given=self._intake.given,
            phrases=self._desk.phrases,
        )
        for draft in drafts:
            self._intake.take(draft)
            await self._send(draft, Tier.EXTRACTIVE)
        spent = self._desk.clock() - began
        return [
            Stage(
                name=self._stage_name("floor"),
                spent=spent,
                rung="extractive",
                reason=f"{len(drafts)} items from records alone",
                started_after=began - self._ask.arrived,
            )
        ]

    def _stage(self) -> Stage:
        return Stage(
            name=self._stage_name("generator"),
            allowance=self._allowance,
            spent=self._desk.clock() - self._began,
            rung=self._rung,
            reason=self._reason,
            attempts=tuple(self._attempts),
            started_after=self._began - self._ask.arrived,
        )

    def _stage_name(self, kind: str) -> str:
        return f"{kind}.{self._ask.section}"

    def _finish(self) -> Finish:
        if self._out_of_time:
            return Finish.DEADLINE
        if self._by_models < self._count and not self._chose_fewer and not self._switched_off:
            return Finish.UPSTREAM_EXHAUSTED
        return Finish.MAX_ITEMS if self._items >= self._ask.count else Finish.COMPLETE


def _usable(ask: Ask) -> int:
    """How many items the records allow, at most as many as are wanted."""
    return min(ask.count, len({record.id for record in ask.records} - ask.given))
