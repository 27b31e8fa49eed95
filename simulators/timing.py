"""Decides how long each part of a call takes, before any of it happens. Pure but for the random numbers it is
handed.

Every duration is drawn for every call, used or not: so what a call meets (a cache, a queue) never changes what is
drawn next.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from simulators.faults import Faults
from simulators.scenario import Region, Scenario, Tier

HANDSHAKES = 2
"""Round trips before the first request on a connection: TCP, then TLS 1.3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long each part of a call takes, in seconds."""

    reach: float
    """Until the request is there, and the first byte of the response back: all that the network costs."""
    compile: float
    """When the schema is used for the first time."""
    first_token_cold: float
    first_token_cached: float
    per_input_token: float
    per_token: float

    def first_token(self, *, input_tokens: int, read_tokens: int) -> float:
        """From the start of the model's work to its first token."""
        drawn = self.first_token_cached if read_tokens else self.first_token_cold
        return drawn + self.per_input_token * (input_tokens - read_tokens)

    def slowed(self, others: int, slowdown: float) -> float:
        """Seconds from one token to the next with so many other calls in flight."""
        return self.per_token * (1 + slowdown * others)


def drawn(
    scenario: Scenario, tier: Tier, region: Region, faults: Faults, rng: Random, *, pace: float, new_connection: bool
) -> Timing:
    """The timing of one call; faults that set a time take the place of what was drawn, or come on top."""
    setup, trip = scenario.connection_setup.draw(rng), region.round_trip.draw(rng)
    pace *= region.slowdown
    stall = tier.stall.seconds if rng.random() < tier.stall.chance else 0.0
    cold, cached = tier.first_token_cold.draw(rng), tier.first_token_cached.draw(rng)
    compile_, per_token = scenario.schema_compile.draw(rng), tier.per_token.draw(rng) * pace
    late = faults["slow_headers"].number("seconds") if "slow_headers" in faults else 0.0
    return Timing(
        reach=trip + late + (setup + HANDSHAKES * trip if new_connection else 0.0),
        compile=compile_,
        first_token_cold=cold * pace + stall,
        first_token_cached=cached * pace + stall,
        per_input_token=tier.per_input_token * pace,
        per_token=faults["slow_drip"].number("seconds") if "slow_drip" in faults else per_token,
    )
