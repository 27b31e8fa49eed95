"""Decides which randomness a request gets, so that the same seed and the same requests give the same run.

It is made from the seed, what was asked and how often that was asked before: never from the order of arrival, which
differs
from run to run when requests are in flight together.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from random import Random

REMEMBERED_PROMPTS = 65_536


class Draws:
    """Hands out one generator of random numbers per request."""

    def __init__(self, *, seed: int) -> None:
        self._seed = seed
        self._asked: OrderedDict[bytes, int] = OrderedDict()

    def of(self, endpoint: str, prompt: bytes) -> Random:
        """The generator for this request; another one each time the same is asked again."""
        key = blake2b(prompt, digest_size=16, key=endpoint.encode()[:64]).digest()
        nth = self._asked.pop(key, 0)
        self._asked[key] = nth + 1
        if len(self._asked) > REMEMBERED_PROMPTS:
            self._asked.popitem(last=False)
        material = blake2b(key + nth.to_bytes(8, "little"), digest_size=8, key=str(self._seed).encode()[:64])
        return Random(int.from_bytes(material.digest(), "little"))

    def forget(self) -> None:
        """Start counting afresh, as if nothing had been asked."""
        self._asked.clear()
