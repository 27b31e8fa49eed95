"""Decides how OpenAI's embeddings endpoint is spoken, and what vector a text has.

A vector is made of the letters alone: the counts of its one to three letter pieces, hashed into the dimensions and
brought to length one. Texts that share words are near each other, which is all that a search among names and places
needs; nothing of meaning is known. The same text has the same vector on every machine.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from simulators.lookup import Unanswerable, looked_up
from simulators.tokens import count_text
from simulators.world import World

DIMENSIONS = 1_536
MOST_INPUTS = 2_048
LONGEST_PIECE = 3
ENCODINGS = ("float", "base64")

Vector = NDArray[np.float32]


async def embeddings(request: web.Request, world: World) -> web.StreamResponse:
    """`POST /openai/v1/embeddings`: `{model, input, dimensions?, encoding_format?}`, one text or a list of them."""
    return await looked_up(request, "openai.embeddings", world, world.scenario.embeddings, _answer)


def embedded(text: str, dimensions: int) -> Vector:
    """The vector of a text; of length 1, or all zero when there is nothing in the text."""
    vector: Vector = np.zeros(dimensions, dtype=np.float32)
    for piece in _pieces(text):
        place = crc32(piece.encode())
        # Longer pieces say more; the sign keeps pieces that share a place from adding up.
        vector[place % dimensions] += math.sqrt(len(piece)) * (1.0 if place & 0x10000 else -1.0)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def _answer(body: Mapping[str, Any]) -> Mapping[str, Any]:
    model, given = body.get("model"), body.get("input")
    if not isinstance(model, str) or not model:
        raise Unanswerable("you must provide a model parameter")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise Unanswerable("'$.input' is invalid: a text or a list of texts, none of them empty, is wanted")
    if len(texts) > MOST_INPUTS:
        raise Unanswerable(f"'input' must have at most {MOST_INPUTS} items")
    dimensions, encoding = body.get("dimensions", DIMENSIONS), body.get("encoding_format", "float")
    if not isinstance(dimensions, int) or not 1 <= dimensions <= DIMENSIONS or encoding not in ENCODINGS:
        raise Unanswerable(f"'dimensions' goes from 1 to {DIMENSIONS}, 'encoding_format' is one of {ENCODINGS}")
    vectors = [embedded(text, dimensions) for text in texts]
    used = sum(map(count_text, texts))
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": place, "embedding": _written(vector, encoding)}
            for place, vector in enumerate(vectors)
        ],
        "model": model,
        "usage": {"prompt_tokens": used, "total_tokens": used},
    }


def _written(vector: Vector, encoding: str) -> object:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode() if encoding == "base64" else vector


def _pieces(text: str) -> Iterator[str]:
    for word in text.casefold().split():
        for length in range(1, LONGEST_PIECE + 1):
            for start in range(len(word) - length + 1):
                yield word[start : start + length]
