"""The rungs that can be called now, and who stands behind each.

Decides which configured models are out for a while (a refused key, a rate limit with a time to wait) and whether a
prefix is expected to be in the provider's cache. Chooses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.deadline import Clock
from services.generator.models import Model
from services.generator.policy import Rung
from services.generator.upstream import CONCERNS_BACKEND, Failure, Provider, UpstreamError

REFUSED_KEY_SECONDS = 30.0
MOST_SHUT_SECONDS = 30.0
CACHED_SECONDS = 240.0
"""A provider keeps a prefix for five minutes after its last use; a minute less is safe to count on."""

Key = tuple[str, str]
"""Backend and model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A model and the provider to call it through."""

    model: Model
    provider: Provider

    @property
    def key(self) -> Key:
        """Backend and model."""
        return self.model.provider, self.model.name


class Ladder:
    """The configured writers, in order of preference within a tier."""

    def __init__(self, writers: Iterable[Writer], *, clock: Clock) -> None:
        self._clock = clock
        self._writers: Mapping[Key, Writer] = {writer.key: writer for writer in writers}
        self._shut_until: dict[Key, tuple[float, Failure]] = {}
        self._cached_until: dict[Key, float] = {}

    def writer(self, rung: Rung) -> Writer:
        """Who stands behind a rung of this ladder."""
        return self._writers[rung.backend, rung.model]

    def models(self) -> frozenset[str]:
        """Names of all models that may ever be asked."""
        return frozenset(model for _, model in self._writers)

    def rungs(self, *, without: frozenset[Key] = frozenset()) -> list[Rung]:
        """The rungs that can be called now, with the pace that is expected of them now."""
        now = self._clock()
        return [
            self._rung(writer, now)
            for key, writer in self._writers.items()
            if key not in without and self._shut_until.get(key, (0.0, None))[0] <= now
        ]

    def shut_because(self) -> Failure | None:
        """Why a configured writer is out for now, or None when none is."""
        now = self._clock()
        return next((why for until, why in self._shut_until.values() if until > now), None)

    def concerned(self, rung: Rung, failure: Failure) -> frozenset[Key]:
        """The writers that would fail in the same way."""
        if failure in CONCERNS_BACKEND:
            return frozenset(key for key in self._writers if key[0] == rung.backend)
        return frozenset({(rung.backend, rung.model)})

    def note_failure(self, rung: Rung, error: UpstreamError) -> None:
        """Takes writers out for a while when asking again at once cannot help."""
        if error.failure is Failure.UNAUTHORISED:
            pause = REFUSED_KEY_SECONDS
        elif error.retry_after is not None:
            pause = min(error.retry_after, MOST_SHUT_SECONDS)
        else:
            return
        for key in self.concerned(rung, error.failure):
            self._shut_until[key] = (self._clock() + pause, error.failure)

    def note_cached(self, rung: Rung) -> None:
        """The prefix was read from the provider's cache or written to it just now."""
        self._cached_until[rung.backend, rung.model] = self._clock() + CACHED_SECONDS

    def expects_cached(self, rung: Rung) -> bool:
        """Whether the prefix should be in the provider's cache."""
        return self._cached_until.get((rung.backend, rung.model), 0.0) > self._clock()

    def _rung(self, writer: Writer, now: float) -> Rung:
        model = writer.model
        pace = model.cached_pace if self._cached_until.get(writer.key, 0.0) > now else model.pace
        return Rung(
            name=model.tier.name.lower(),
            tier=model.tier,
            backend=model.provider,
            model=model.name,
            ttft_p50=pace.ttft_p50,
            ttft_p95=pace.ttft_p95,
            tpot_p50=pace.tpot_p50,
        )
