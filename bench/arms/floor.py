"""The least that is possible: what to write about is known, the prompt is ideal, and one call for each section asks for
its first item. Nothing is searched, decided, divided or sent on.

Its model is the one that the mesh used for the same query, so that the two differ in nothing but what is around the
call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from bench.arms import models
from bench.arms.knowledge import Document
from bench.arms.measured import Clock, Outcome, Stopwatch
from bench.arms.prompting import Prompt, Prompts
from bench.arms.queries import Query
from bench.arms.techniques import Techniques
from bench.arms.upstreams import Upstreams
from bench.arms.writing import write

IDEAL = Techniques(
    pooling=True, compressed=True, prompt_cache=True, item_streaming=True, lean_schema=True, divide=True, tiering=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """An arm that asks a model and does nothing else."""

    documents: Mapping[str, Mapping[str, list[Document]]]
    """By the query's words and the section, found beforehand."""
    upstreams: Upstreams
    prompts: Prompts
    prices: Mapping[str, Mapping[str, float]]
    tiers: Mapping[str, str]
    """By the query's words: the tier that the mesh used. Where it is not known the query itself decides."""
    clock: Clock

    async def answer(self, query: Query) -> Outcome:
        """The first item of each section."""
        tier = self.tiers.get(query.text) or (models.SMALL if query.is_simple else models.LARGE)
        prompts = [self._prompt(query, section) for section in query.shares()]
        watch = Stopwatch(self.clock)
        async with self.upstreams.model() as client, asyncio.TaskGroup() as tasks:
            for prompt in prompts:
                tasks.create_task(
                    write(client, prompt, tier=tier, price=self.prices[tier], streamed=True, watch=watch), name="floor"
                )
        return watch.outcome(wanted=len(prompts))

    def _prompt(self, query: Query, section: str) -> Prompt:
        documents = self.documents[query.text][section]
        return self.prompts.prompt(query, IDEAL, documents, section=section, count=1, time_of_day="")
