"""What may be set for the orchestrator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headway.settings import address, addresses, path, positive_span, setting, span, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestratorConfig:
    """Where it listens, whom it calls, and the priors from which it divides time."""

    listen: str = setting("HEADWAY_ORCHESTRATOR_LISTEN", address, "127.0.0.1:50051", "address of the public API")
    router: str = setting("HEADWAY_ROUTER_TARGET", addresses, "127.0.0.1:50052", "where the router is")
    retrieval: str = setting("HEADWAY_RETRIEVAL_TARGET", addresses, "127.0.0.1:50053", "where retrieval is")
    generator: str = setting("HEADWAY_GENERATOR_TARGET", addresses, "127.0.0.1:50054", "where the generator is")
    domain: Path = setting("HEADWAY_DOMAIN", path, "domains/travel", "folder of the domain")
    router_cap: float = setting("HEADWAY_ROUTER_CAP", positive_span, "300ms", "most time for the router")
    router_floor: float = setting("HEADWAY_ROUTER_FLOOR", span, "8ms", "p95 of the router")
    retrieval_cap: float = setting(
        "HEADWAY_RETRIEVAL_CAP", positive_span, "1s", "most time until internal records are there"
    )
    retrieval_floor: float = setting("HEADWAY_RETRIEVAL_FLOOR", span, "20ms", "p95 of internal retrieval alone")
    web_cap: float = setting("HEADWAY_WEB_CAP", span, "2s", "most time for web search; 0s leaves the web out")
    generator_floor: float = setting("HEADWAY_GENERATOR_FLOOR", span, "15ms", "p95 of the floor, which calls no model")
    web_generation: float = setting(
        "HEADWAY_WEB_GENERATION", span, "900ms", "time that writing an item about web results takes, p50"
    )
    start_patience: float = setting(
        "HEADWAY_START_PATIENCE",
        span,
        "20s",
        "time at start to wait for router and generator before going without them",
    )
    explain_keep: int = setting(
        "HEADWAY_EXPLAIN_KEEP",
        whole(0, 100_000),
        "200",
        "requests whose account is kept in memory for `headway explain`; 0 switches it off",
    )
    records_per_item: int = setting(
        "HEADWAY_RECORDS_PER_ITEM", whole(1, 10), "3", "records asked of retrieval for each item wanted"
    )
    items_per_piece: int = setting(
        "HEADWAY_ITEMS_PER_PIECE",
        whole(1, 50),
        "4",
        "most items that one call to the generator writes; a section of more is written by several at once",
    )
