"""Decides whether a workspace has used up what it may use a minute; refuses to know how a provider says so.

Token buckets as the vendors describe theirs: they hold a minute's worth and fill continuously, apart for each
workspace and
family of models. What is known only later (output tokens) is taken later and may leave a bucket in debt.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from simulators.scenario import Limits
from simulators.turn import Level

MINUTE = 60.0
MOST_BUCKETS = 10_000


@dataclass(slots=True, kw_only=True)
class _Bucket:
    limit: int
    level: float
    at: float

    def fill(self, now: float) -> None:
        self.level = min(self.limit, self.level + (now - self.at) * self.limit / MINUTE)
        self.at = now

    def wait_for(self, amount: float) -> float:
        """Seconds until so much is there; more than the whole bucket is let through once it is full."""
        return max(0.0, min(amount, self.limit) - self.level) * MINUTE / self.limit


class Buckets:
    """What every workspace has left."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: OrderedDict[tuple[str, str], _Bucket] = OrderedDict()

    def admit(self, owner: str, limits: Limits, amounts: Mapping[str, int]) -> tuple[str, float] | None:
        """Take the amounts, by limit; or take nothing and say which limit is in the way, and for how many
        seconds."""
        named = [(name, self._bucket(owner, name, limits), amount) for name, amount in amounts.items()]
        wanted = [(name, bucket, amount) for name, bucket, amount in named if bucket is not None]
        for name, bucket, amount in wanted:
            wait = bucket.wait_for(amount)
            if wait > 0:
                return name, wait
        for _, bucket, amount in wanted:
            bucket.level -= amount
        return None

    def take(self, owner: str, limits: Limits, name: str, amount: int) -> None:
        """Take an amount that is known only now."""
        bucket = self._bucket(owner, name, limits)
        if bucket is not None:
            bucket.level -= amount

    def levels(self, owner: str, limits: Limits, names: Iterable[str]) -> dict[str, Level]:
        """How far each of the limits that are set is used up."""
        found = {}
        for name in names:
            bucket = self._bucket(owner, name, limits)
            if bucket is not None:
                reset = (bucket.limit - bucket.level) * MINUTE / bucket.limit
                found[name] = Level(limit=bucket.limit, remaining=max(0, int(bucket.level)), reset=reset)
        return found

    def forget(self) -> None:
        """All full again."""
        self._buckets.clear()

    def _bucket(self, owner: str, name: str, limits: Limits) -> _Bucket | None:
        limit: int = getattr(limits, name)
        if not limit:
            return None
        key, now = (owner, name), self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(limit=limit, level=limit, at=now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        bucket.fill(now)
        return bucket
