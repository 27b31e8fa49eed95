"""Decides what the providers have in common: what a call is, what its answer consumed, how one is refused.

Refuses to know either provider's wire format; the modules named after them speak it, through the protocols here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from simulators.prompt_cache import Found, Prefix
from simulators.scenario import Model, Scenario


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
    is_warming: bool = False
    """The cache is to be filled and nothing generated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer consumed."""

    input_tokens: int
    """All of them, however they are billed."""
    output_tokens: int
    found: Found = field(default_factory=Found)


COMPLETE = "complete"
MAX_TOKENS = "max_tokens"
REFUSAL = "refusal"


class Turn(Protocol):
    """One answer in one provider's format. The frames are complete server-sent events."""

    call: Call

    def begin(self, identity: str, usage: Usage, created: int) -> None:
        """Say what the answer is called and what its input consumed; before any frame is asked for."""

    def opening(self) -> bytes:
        """What comes before the first token."""

    def delta(self, text: str) -> bytes:
        """One token."""

    def closing(self, text: str, usage: Usage, ending: str) -> bytes:
        """What comes after the last token, the end marker last."""

    def whole(self, text: str, usage: Usage, ending: str) -> bytes:
        """The answer when it is not streamed."""


class Dialect(Protocol):
    """How one provider's endpoint is spoken."""

    endpoint: str

    def read(self, incoming: Incoming) -> Turn:
        """Understand a request; `Refused` when it is not acceptable."""

    def refusal(self, refused: Refused, request_id: str) -> bytes:
        """The body of an error status."""

    def headers(self, request_id: str, seconds: float) -> dict[str, str]:
        """The headers of every response, after so many seconds of work."""
