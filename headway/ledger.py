"""The account of a request: per stage the allowance, the time spent, the rung and why.

Values only, and sums over them. Knows neither clock nor wire; all spans are seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Degradation(IntEnum):
    """Why something was given up; numbers of ``headway.v1.DegradationReason``."""

    UNSPECIFIED = 0
    OUT_OF_TIME = 1
    UPSTREAM_UNAVAILABLE = 2
    RATE_LIMITED = 3
    NOT_AUTHORISED = 4
    INVALID_OUTPUT = 5
    FEW_RECORDS = 6
    NOT_A_RECOMMENDATION = 7
    UNSUPPORTED_LANGUAGE = 8
    SWITCHED_OFF = 9
    ASSUMED = 10


class Finish(IntEnum):
    """Why an answer ended; numbers of ``headway.v1.FinishReason``."""

    UNSPECIFIED = 0
    COMPLETE = 1
    MAX_ITEMS = 2
    DEADLINE = 3
    UPSTREAM_EXHAUSTED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """One degradation as it happens: the stage, why, and one sentence for a person."""

    stage: str
    reason: Degradation
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and US dollars. ``input_tokens`` includes what was read from and written to a prompt cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a stage at something outside.

    ``ttft`` is None when no content came; ``started_after`` counts from the start of the stage.
    """

    backend: str
    model: str = ""
    outcome: str
    spent: float
    ttft: float | None = None
    usage: Usage = Usage()
    started_after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The account of one stage; ``allowance`` None means that it had no limit of its own."""

    name: str
    spent: float
    allowance: float | None = None
    rung: str = ""
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()
    started_after: float = 0.0


def total_usage(stages: Iterable[Stage]) -> Usage:
    """Tokens and cost of all attempts of all stages."""
    usage = Usage()
    for stage in stages:
        for attempt in stage.attempts:
            usage = usage + attempt.usage
    return usage
