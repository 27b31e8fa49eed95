"""What the generator asks of a provider, and what can come back.

Declared here, on the side that calls: a provider is one method that streams pieces of text and then how it ended.
Every way in which that can fail has one name, whatever the provider calls it. Knows no SDK.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from headway.ledger import Degradation, Usage


class Failure(StrEnum):
    """Why a call to a provider gave no whole answer; the values stand in ledgers as outcomes of attempts."""

    UNAUTHORISED = "unauthorised"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    BAD_REQUEST = "bad_request"
    CONTEXT_LENGTH = "context_length"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    SERVER_ERROR = "server_error"
    CUT_OFF = "cut_off"
    """The stream ended without its end marker."""
    INVALID_STREAM = "invalid_stream"
    """The stream holds what is no event of the protocol."""
    STALLED = "stalled"
    """It had begun, and then nothing came."""
    NO_ITEMS = "no_items"
    """It ended well, but not one item of it could be used."""


DEGRADATIONS: Mapping[Failure, Degradation] = {
    Failure.UNAUTHORISED: Degradation.NOT_AUTHORISED,
    Failure.RATE_LIMITED: Degradation.RATE_LIMITED,
    Failure.OVERLOADED: Degradation.UPSTREAM_UNAVAILABLE,
    Failure.BAD_REQUEST: Degradation.UPSTREAM_UNAVAILABLE,
    Failure.CONTEXT_LENGTH: Degradation.UPSTREAM_UNAVAILABLE,
    Failure.REFUSED: Degradation.INVALID_OUTPUT,
    Failure.TIMEOUT: Degradation.OUT_OF_TIME,
    Failure.CONNECTION: Degradation.UPSTREAM_UNAVAILABLE,
    Failure.SERVER_ERROR: Degradation.UPSTREAM_UNAVAILABLE,
    Failure.CUT_OFF: Degradation.INVALID_OUTPUT,
    Failure.INVALID_STREAM: Degradation.INVALID_OUTPUT,
    Failure.STALLED: Degradation.OUT_OF_TIME,
    Failure.NO_ITEMS: Degradation.INVALID_OUTPUT,
}

CONCERNS_BACKEND = frozenset({Failure.UNAUTHORISED, Failure.OVERLOADED})
"""Failures that every model of the provider would meet; the others concern the model that was asked."""


class UpstreamError(Exception):
    """A call to a provider failed. ``detail`` is for a person and holds no secret; ``retry_after`` is in seconds."""

    def __init__(self, failure: Failure, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{failure.value}: {detail}")
        self.failure = failure
        self.detail = detail
        self.retry_after = retry_after


class Stop(StrEnum):
    """Why a whole answer ended."""

    END = "end"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question to one model. ``prefix`` is byte-stable and comes first; ``schema`` None asks for free text."""

    model: str
    prefix: str
    message: str
    max_tokens: int
    timeout: float
    cache_key: str = ""
    schema: Mapping[str, Any] | None = None
    limit_field: str = "max_completion_tokens"
    vendor_options: bool = True
    effort: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """The provider began to answer and says what it read; providers that say so only at the end skip this."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Ended:
    """The answer is whole. ``usage`` is None when the provider did not say."""

    stop: Stop
    usage: Usage | None


Piece = str | Started | Ended
"""Text as it comes, in order; Ended is the last piece."""


class Provider(Protocol):
    """Something that writes text."""

    def stream(self, call: Call) -> AsyncGenerator[Piece, None]:
        """Streams the answer. Raises UpstreamError, also while streaming. Closing the generator, or cancelling the
        task that reads it, closes the connection when the answer is not whole."""
