"""Decides what the providers have in common: what a call is, what its answer consumed, how one is refused.

Refuses to know either provider's wire format; the modules named after them speak it, through the protocols here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from simulators.prompt_cache import Found, Prefix
from simulators.scenario import Limits, Model, Scenario

COMPLETE = "complete"
MAX_TOKENS = "max_tokens"
STOPPED = "stopped"
"""At one of the caller's stop sequences."""
REFUSAL = "refusal"


class Refused(Exception):  # noqa: N818 - an outcome of a request, not a mistake of ours
    """The request gets an error status instead of an answer."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.code = code
        self.param = param
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as it came, parsed but not yet understood."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """Names in lower case."""
    scenario: Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What must be equal for a later prompt to be read from the cache, to say afterwards what was not."""

    parameters: Mapping[str, object]
    """By the reason the provider would give, in the order in which it looks."""
    prefix: Prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is asked of a model, whichever provider it is."""

    model_name: str
    model: Model
    stream: bool
    max_tokens: int | None
    """None when there is no limit but the model's."""
    text: str
    """The last user message."""
    schema: Mapping[str, Any] | None
    """The JSON schema the answer must have; None when it is free."""
    prefix: Prefix
    workspace: str
    """Whose call it is: caches and limits are kept apart by it."""
    fingerprint: Fingerprint
    compared_with: str | None = None
    """The earlier answer with which the cache is to be compared."""
    stops: tuple[str, ...] = ()
    """Texts before which the answer ends."""
    prefilled: str = ""
    """What the answer already begins with and does not repeat."""
    is_warming: bool = False
    """The cache is to be filled and nothing generated."""
    cache_minimum_tokens: int = 1_024
    cache_group: bytes = b""
    """Calls that share one machine's cache as long as they are not too many; empty where that plays no part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer consumed."""

    input_tokens: int
    """All of them, however they are billed."""
    output_tokens: int
    thinking_tokens: int = 0
    """Part of the output, never seen or seen apart from the answer."""
    found: Found = field(default_factory=Found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What is known of an answer before its first token."""

    identity: str
    created: int
    """Seconds since the epoch."""
    usage: Usage
    diagnosis: Mapping[str, Any] | None = None
    """Why the cache was not read, in the provider's words."""
    is_thinking: bool = False
    """Something comes before the answer itself."""


class Turn(Protocol):
    """One answer in one provider's format. The frames are complete server-sent events."""

    call: Call

    def begin(self, heading: Heading) -> None:
        """Before any frame is asked for."""

    def opening(self) -> bytes:
        """What comes before the first token."""

    def thought(self, text: str) -> bytes:
        """One token of what the model thinks before it answers; empty where the provider does not show it."""

    def thought_end(self) -> bytes:
        """Between the thoughts and the answer."""

    def delta(self, text: str) -> bytes:
        """One token."""

    def closing(self, text: str, usage: Usage, ending: str) -> bytes:
        """What comes after the last token, but for the end marker."""

    def end_marker(self, text: str, usage: Usage, ending: str) -> bytes:
        """What says that the stream is complete."""

    def ping(self) -> bytes:
        """What keeps an idle stream alive; a comment where the provider has nothing for it."""

    def unknown(self) -> bytes:
        """An event of a type that does not exist yet."""

    def failure(self, kind: str, shape: str) -> bytes:
        """An error inside the stream, of a `kind` (`overloaded`, `rate_limit`, `server`), in one of the provider's
        shapes."""

    def whole(self, text: str, usage: Usage, ending: str) -> bytes:
        """The answer when it is not streamed."""


class Dialect(Protocol):
    """How one provider's endpoint is spoken."""

    endpoint: str

    def read(self, incoming: Incoming) -> Turn:
        """Understand a request; `Refused` when it is not acceptable."""

    def refusal(self, refused: Refused, request_id: str) -> bytes:
        """The body of an error status."""

    def error(self, status: int, **facts: str) -> Refused:
        """The error with which the provider answers in that situation; `facts` may give `code` and `message`."""

    def headers(self, request_id: str, seconds: float) -> dict[str, str]:
        """The headers of every response, after so many seconds of work."""

    def limits(self, scenario: Scenario) -> Limits:
        """What a workspace may use a minute."""

    def limit_headers(self, levels: Mapping[str, Level], epoch: float) -> dict[str, str]:
        """How far each limit is used up, at a wall-clock instant."""

    def too_much(self, limit: str, wait: float, model: str) -> Refused:
        """The error when a limit is used up for so many seconds."""

    def billed_input(self, call: Call, found: Found) -> float:
        """What the input costs, in ordinary input tokens."""

    def diagnosis(self, earlier: Fingerprint | None, call: Call, found: Found) -> Mapping[str, Any] | None:
        """Why the cache was not read as it was for the earlier answer; None when nothing is to be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A limit and what is left of it."""

    limit: int
    remaining: int
    reset: float
    """Seconds until it is full again."""
