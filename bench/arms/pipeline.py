"""One answer by an arm that runs here: what is done after what, and what at the same time.

Decides order and overlap, which is what most of the techniques are about. Refuses to know how documents are found
(`bench.arms.retrieving`) and how a model is asked (`bench.arms.writing`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.arms import models
from bench.arms.knowledge import EVERYTHING, Document
from bench.arms.measured import Clock, Outcome, Stopwatch
from bench.arms.prompting import Prompts
from bench.arms.queries import Query
from bench.arms.retrieving import Retrieval
from bench.arms.techniques import Techniques
from bench.arms.upstreams import Upstreams
from bench.arms.writing import write

WARM_SECONDS = 240.0
"""A prefix that was used within that time is still in the provider's cache, which keeps it for five minutes."""


class Arm(Protocol):
    """One way of answering."""

    async def answer(self, query: Query) -> Outcome:
        """Answers a query. What goes wrong on the way is raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one call writes."""

    section: str
    count: int
    documents: Sequence[Document]


@dataclass(slots=True, kw_only=True)
class Warmth:
    """Until when the static prefix is expected in the provider's cache, by tier."""

    clock: Clock
    until: dict[str, float] = field(default_factory=dict)

    def is_warm(self, tier: str) -> bool:
        """Whether calls may all start at once and still find it."""
        return self.until.get(tier, 0.0) > self.clock()

    def used(self, tier: str) -> None:
        """A response has begun, so it is there."""
        self.until[tier] = self.clock() + WARM_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """An arm that runs in this process."""

    techniques: Techniques
    retrieval: Retrieval
    upstreams: Upstreams
    prompts: Prompts
    prices: Mapping[str, Mapping[str, float]]
    warmth: Warmth
    clock: Clock
    time_of_day: Callable[[], str]

    async def answer(self, query: Query) -> Outcome:
        """See `Arm`."""
        watch = Stopwatch(self.clock)
        if self.techniques.early_start:
            await self._early(query, watch)
        else:
            await self._late(query, watch)
        return watch.outcome(wanted=query.count)

    async def _late(self, query: Query, watch: Stopwatch) -> None:
        """Everything that is searched must be there before anything is written."""
        if self.techniques.parallel:
            async with asyncio.TaskGroup() as tasks:
                searching = tasks.create_task(self._internal(query, watch), name="internal")
                asking = tasks.create_task(self._web(query, watch), name="web")
            found, web = searching.result(), asking.result()
        else:
            found = await self._internal(query, watch)
            web = await self._web(query, watch)
        shares = query.shares() if self.techniques.divide else {EVERYTHING: query.count}
        jobs = [
            Job(section=section, count=count, documents=[*found[section], *web]) for section, count in shares.items()
        ]
        await self._write(query, jobs, watch)

    async def _early(self, query: Query, watch: Stopwatch) -> None:
        """Writing begins with what the catalogue has; the last item is written when the web has answered."""
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(self._web(query, watch), name="web") if self.techniques.parallel else None
            found = await self._internal(query, watch)
            asking = asking or tasks.create_task(self._web(query, watch), name="web")
            shares = query.shares() if self.techniques.divide else {EVERYTHING: query.count}
            at_once, last = held_back(shares, found)
            tasks.create_task(self._write(query, at_once, watch), name="writing")
            web = await asking
            late = Job(section=last.section, count=last.count, documents=[*web, *last.documents])
            await self._write(query, [late], watch)

    async def _internal(self, query: Query, watch: Stopwatch) -> dict[str, list[Document]]:
        found = await self.retrieval.internal(query)
        watch.mark("internal")
        return found

    async def _web(self, query: Query, watch: Stopwatch) -> list[Document]:
        found = await self.retrieval.web(query)
        watch.mark("web")
        return found

    async def _write(self, query: Query, jobs: Sequence[Job], watch: Stopwatch) -> None:
        """All jobs side by side; where the prefix is to be cached and is not yet, the first one starts before the
        rest."""
        tier = models.SMALL if self.techniques.tiering and query.is_simple else models.LARGE
        begun = asyncio.Event()
        first_alone = self.techniques.prompt_cache and len(jobs) > 1 and not self.warmth.is_warm(tier)
        async with asyncio.TaskGroup() as tasks:
            for place, job in enumerate(jobs):
                if place and first_alone:
                    await begun.wait()
                tasks.create_task(self._one(query, job, tier, watch, begun), name=f"write {job.section}")

    async def _one(self, query: Query, job: Job, tier: str, watch: Stopwatch, begun: asyncio.Event) -> None:
        def responded() -> None:
            begun.set()
            self.warmth.used(tier)

        prompt = self.prompts.prompt(
            query,
            self.techniques,
            job.documents,
            section=job.section,
            count=job.count,
            time_of_day=self.time_of_day(),
        )
        async with self.upstreams.model() as client:
            await write(
                client,
                prompt,
                tier=tier,
                price=self.prices[tier],
                streamed=self.techniques.item_streaming,
                watch=watch,
                begun=responded,
            )


def held_back(shares: Mapping[str, int], found: Mapping[str, Sequence[Document]]) -> tuple[list[Job], Job]:
    """The jobs that can start on what the catalogue had, and the one item that waits for the web.

    It is the last of the section with the most items, of several the last. Its documents come after those that the
    section's other items may rest on, so that no place is written about twice.
    """
    section = max(reversed(list(shares)), key=lambda each: shares[each])
    at_once: list[Job] = []
    kept: Sequence[Document] = found[section]
    for each, count in shares.items():
        documents = found[each]
        if each == section:
            count -= 1
            # Half of what there is, and never fewer than the items need.
            used = max(count, len(documents) // 2) if count else 0
            documents, kept = documents[:used], documents[used:]
        if count:
            at_once.append(Job(section=each, count=count, documents=documents))
    return at_once, Job(section=section, count=1, documents=kept)
