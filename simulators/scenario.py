"""Decides what the outside world is like: latencies, tiers, models, limits, faults. Frozen values.

Refuses to know files (`simulators.scenario_file` reads them), HTTP, and how any of it is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from simulators.arrivals import Arrivals
from simulators.faults import Fault
from simulators.latency import NOTHING, Latency


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A pause that now and then comes on top."""

    chance: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """The web search."""

    latency: Latency = NOTHING
    stall: Stall = Stall()
    keys: tuple[str, ...] = ()
    """The keys that are accepted; empty accepts any, and none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Calls of others, which take a tier's slots and are never seen."""

    arrivals: Arrivals
    holds: Latency
    """How long each takes its slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """How fast a class of models is."""

    first_token_cold: Latency = NOTHING
    first_token_cached: Latency = NOTHING
    """Instead of the cold one when part of the prompt was read from the cache."""
    per_token: Latency = NOTHING
    """Drawn once a request: seconds from one output token to the next."""
    per_input_token: float = 0.0
    """Seconds to the first token for each input token that was not read from the cache, on top of the draw."""
    stall: Stall = Stall()
    """On top of the time to the first token."""
    slots: int = 0
    """Calls generated at once; the others queue. 0 is without limit."""
    slowdown: float = 0.0
    """By which share each other call in flight makes the tokens slower."""
    background: Background | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The models whose name matches a pattern."""

    match: str
    tier: str
    context_tokens: int = 200_000
    cache_minimum_tokens: int = 1_024
    prefill: bool = False
    """Whether an assistant message may come last, to be continued."""
    cache_options: bool = True
    """Whether OpenAI's `prompt_cache_options` are known, and writing to the cache is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a workspace may use a minute; 0 is without limit."""

    requests: int = 0
    tokens: int = 0
    """Input and the output that was asked for, counted when a request comes (OpenAI)."""
    input_tokens: int = 0
    """Without those read from the cache (Anthropic)."""
    output_tokens: int = 0
    """Counted when they have been generated (Anthropic)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Where an endpoint is, seen from the caller."""

    round_trip: Latency = NOTHING
    """Paid once by every request, and twice more by the first on a connection (TCP, then TLS)."""
    slowdown: float = 1.0
    """Factor on the time to the first token and between tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """How load over the day makes everything slower and faster: a sine."""

    swing: float = 0.0
    """0.4 is from 0.6 to 1.4 times the usual."""
    period: float = 86_400.0
    peak: float = 0.0
    """Seconds after the start at which it is slowest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that can be chosen about the outside world."""

    name: str
    description: str = ""
    connection_setup: Latency = NOTHING
    """What the first request on a new connection pays besides round trips; loopback has neither."""
    keys: tuple[str, ...] = ()
    """The provider keys that are accepted; empty accepts any, but not none."""
    schema_compile: Latency = NOTHING
    """What the first use of a JSON schema pays; kept for 24 hours from the last use."""
    cache_requests_per_minute: int = 0
    """Requests with one prefix and `prompt_cache_key` that find each other's cache at OpenAI; 0 is all of them."""
    web: Web = Web()
    embeddings: Latency = NOTHING
    """One call of the embeddings endpoint."""
    vector_store: Latency = NOTHING
    """One call of the hosted vector database."""
    day: Day = Day()
    anthropic_limits: Limits = Limits()
    openai_limits: Limits = Limits()
    regions: tuple[tuple[str, Region], ...] = ()
    """By the name in the path `/regions/NAME/...`; the one called `default` is the path without."""
    tiers: tuple[tuple[str, Tier], ...] = ()
    models: tuple[Model, ...] = ()
    faults: tuple[Fault, ...] = ()

    def model(self, name: str) -> Model | None:
        """The first model whose pattern `name` matches."""
        return next((model for model in self.models if fnmatchcase(name, model.match)), None)

    def tier(self, name: str) -> Tier:
        """The tier of that name; every model's tier exists, which the reader made sure of."""
        return next(tier for known, tier in self.tiers if known == name)

    def region(self, name: str) -> Region | None:
        """The region of that name; `default` is always there."""
        found = next((region for known, region in self.regions if known == name), None)
        return Region() if found is None and name == "default" else found
