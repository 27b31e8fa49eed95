"""Decides how a hosted vector database is spoken, in the shape of Pinecone's.

Refuses to know how it searches (`simulators.vector_index`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from simulators.lookup import Unanswerable, looked_up
from simulators.vector_index import Collections
from simulators.world import World

MOST_MATCHES = 1_000


async def upsert(request: web.Request, world: World) -> web.StreamResponse:
    """`POST /vectors/upsert`: `{namespace?, vectors: [{id, values, metadata?}]}`."""
    return await looked_up(
        request, "vectors.upsert", world, world.scenario.vector_store, partial(_put, world.collections)
    )


async def query(request: web.Request, world: World) -> web.StreamResponse:
    """`POST /vectors/query`: `{namespace?, vector, topK, includeMetadata?}`."""
    return await looked_up(
        request, "vectors.query", world, world.scenario.vector_store, partial(_find, world.collections)
    )


def _put(collections: Collections, body: Mapping[str, Any]) -> Mapping[str, Any]:
    given = body.get("vectors")
    if not isinstance(given, list) or not all(isinstance(each, dict) and each.get("id") for each in given):
        raise Unanswerable("vectors: a list of {id, values, metadata} is wanted")
    for each in given:
        collections.put(_namespace(body), str(each["id"]), _vector(each.get("values")), each.get("metadata") or {})
    return {"upsertedCount": len(given)}


def _find(collections: Collections, body: Mapping[str, Any]) -> Mapping[str, Any]:
    most = body.get("topK")
    if not isinstance(most, int) or not 1 <= most <= MOST_MATCHES:
        raise Unanswerable(f"topK: a number from 1 to {MOST_MATCHES} is wanted")
    namespace = _namespace(body)
    matches = collections.nearest(namespace, _vector(body.get("vector")), most)
    if body.get("includeMetadata") is not True:
        matches = [{"id": each["id"], "score": each["score"]} for each in matches]
    return {"matches": matches, "namespace": namespace, "usage": {"readUnits": 1}}


def _namespace(body: Mapping[str, Any]) -> str:
    return str(body.get("namespace") or "")


def _vector(values: object) -> NDArray[np.float32]:
    try:
        vector = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as fault:
        raise Unanswerable(f"a vector is a list of numbers: {fault}") from fault
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise Unanswerable("a vector is a list of numbers, at least one, all finite")
    return vector
