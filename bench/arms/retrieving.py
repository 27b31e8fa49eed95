"""How an arm finds what to write about: the catalogue, in the process or by services over HTTP, and the web.

Decides where time goes before a model is asked. Refuses to know prompts and models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import numpy as np

from bench.arms.knowledge import EVERYTHING, MAX_FACTS, Document, Knowledge, remote_text
from bench.arms.queries import Query
from bench.arms.techniques import Techniques
from bench.arms.upstreams import Addresses, Upstreams
from headway.catalogue.plaintext import shorten

EMBEDDING_MODEL = "text-embedding-3-small"
DIMENSIONS = 256
WHOLE_DOCUMENTS = 5
WEB_RESULTS = 6
WEB_WITHIN = 2.0
"""Seconds that the web is waited for where there is a limit at all."""
SPARE_DOCUMENTS = 6
UPSERT_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Finds documents with the techniques of one arm."""

    techniques: Techniques
    upstreams: Upstreams
    addresses: Addresses
    knowledge: Knowledge

    async def internal(self, query: Query) -> dict[str, list[Document]]:
        """Documents of the catalogue, best first, by section, or all under `EVERYTHING` where it is not divided."""
        sections = tuple(query.shares()) if self.techniques.divide else (EVERYTHING,)
        found = await (self._local if self.techniques.local else self._remote)(query, sections)
        return {
            section: [self.knowledge.document(each, query.language) for each in identities]
            for section, identities in found.items()
        }

    async def web(self, query: Query) -> list[Document]:
        """What the web search finds; nothing when it takes longer than the limit, where there is one."""
        try:
            async with asyncio.timeout(WEB_WITHIN if self.techniques.parallel else None):
                return await self._searched(query)
        except TimeoutError:
            return []

    async def _local(self, query: Query, sections: Sequence[str]) -> dict[str, list[str]]:
        vector = await self.knowledge.embed(query.text)
        return {section: self.knowledge.nearest(vector, section, self._most(query, section)) for section in sections}

    async def _remote(self, query: Query, sections: Sequence[str]) -> dict[str, list[str]]:
        async with self.upstreams.embeddings() as client:
            answer = await client.embeddings.create(model=EMBEDDING_MODEL, input=query.text, dimensions=DIMENSIONS)
        vector = answer.data[0].embedding
        return {section: await self._nearest(vector, section, self._most(query, section)) for section in sections}

    async def _nearest(self, vector: list[float], section: str, most: int) -> list[str]:
        asked = {"namespace": section, "vector": vector, "topK": most, "includeMetadata": True}
        async with self.upstreams.http() as client:
            answer = await client.post(f"{self.addresses.vectors}/query", json=asked)
            answer.raise_for_status()
        return [match["id"] for match in answer.json()["matches"]]

    async def _searched(self, query: Query) -> list[Document]:
        async with self.upstreams.http() as client:
            answer = await client.post(
                f"{self.addresses.web}/search",
                json={"query": query.text, "max_results": WEB_RESULTS},
                headers={"authorization": f"Bearer {self.addresses.key}"},
            )
            answer.raise_for_status()
        return [_of_web(result) for result in answer.json()["results"]]

    def _most(self, query: Query, section: str) -> int:
        """As many as a prompt shows: five whole pages, and of facts enough for a choice where there are sections."""
        if not section or not self.techniques.compressed:
            return WHOLE_DOCUMENTS
        return 2 * query.shares()[section] + SPARE_DOCUMENTS


def _of_web(result: dict[str, Any]) -> Document:
    page = "\n".join(f"{key}: {value}" for key, value in result.items() if value is not None)
    return Document(id=result["url"], name=result["title"], page=page, facts=shorten(result["content"], MAX_FACTS))


async def fill(addresses: Addresses, knowledge: Knowledge, upstreams: Upstreams) -> None:
    """Puts the catalogue into the hosted vector database: all of it, and each section for itself."""
    records = knowledge.records
    async with upstreams.embeddings() as client, upstreams.http() as http:
        for start in range(0, len(records), UPSERT_BATCH):
            batch = records[start : start + UPSERT_BATCH]
            answer = await client.embeddings.create(
                model=EMBEDDING_MODEL, input=[remote_text(record) for record in batch], dimensions=DIMENSIONS
            )
            by_space: dict[str, list[dict[str, Any]]] = {}
            for record, told in zip(batch, answer.data, strict=True):
                vector = {
                    "id": record.id,
                    "values": np.round(told.embedding, 6).tolist(),
                    "metadata": {"text": knowledge.page(record)},
                }
                for space in {EVERYTHING, knowledge.section_of(record)}:
                    by_space.setdefault(space, []).append(vector)
            for space, vectors in by_space.items():
                await _upsert(http, addresses, space, vectors)


async def _upsert(http: httpx2.AsyncClient, addresses: Addresses, space: str, vectors: list[dict[str, Any]]) -> None:
    answer = await http.post(f"{addresses.vectors}/upsert", json={"namespace": space, "vectors": vectors})
    answer.raise_for_status()
