"""What a service counts and times, for Prometheus.

Every name and label of the mesh stands in this file. Numbers come from the ledger, so that metrics and summary never
disagree. Labels are bounded: stages and rungs come from code and domain, and a model or backend that is not
configured counts as ``other``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from headway.ledger import Attempt, Degraded, Stage

BUCKETS = (
    *(0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075),
    *(0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0),
)
"""Seconds. The stock buckets have no edge between 0.25 and 0.5, too coarse for a question of 300 ms."""

TOKEN_BUCKETS = (0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.012, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
"""Seconds per output token."""

OTHER = "other"
MOST_VALUES = 64
"""Most different values of one open label; what comes beyond counts as ``other``."""


class Metrics:
    """The instruments of one process, on a registry of its own."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._open: dict[str, set[str]] = {}
        self._models: frozenset[str] | None = None
        here = self.registry
        self.requests = Counter(
            "headway_requests_total", "Calls by method and status code", ["method", "code"], registry=here
        )
        self.request_duration = Histogram(
            "headway_request_duration_seconds", "Time of calls by method", ["method"], buckets=BUCKETS, registry=here
        )
        self.in_flight = Gauge("headway_in_flight", "Calls under way by method", ["method"], registry=here)
        self.deadlines = Counter(
            "headway_deadlines_total",
            "Calls by whether they ended before their deadline",
            ["method", "result"],
            registry=here,
        )
        self.slack = Histogram(
            "headway_slack_seconds",
            "Time left to the deadline at the end of a call",
            ["method"],
            buckets=BUCKETS,
            registry=here,
        )
        self.stage_duration = Histogram(
            "headway_stage_duration_seconds",
            "Time of stages by rung",
            ["stage", "rung"],
            buckets=BUCKETS,
            registry=here,
        )
        self.allowance_overruns = Counter(
            "headway_allowance_overruns_total", "Stages that took longer than their allowance", ["stage"], registry=here
        )
        self.first_item = Histogram(
            "headway_first_item_seconds", "Time to the first item of an answer", [], buckets=BUCKETS, registry=here
        )
        self.answer = Histogram(
            "headway_answer_seconds", "Time of whole answers by ending", ["finish"], buckets=BUCKETS, registry=here
        )
        self.items = Counter(
            "headway_items_total", "Items sent by section and tier", ["section", "tier"], registry=here
        )
        self.degradations = Counter(
            "headway_degradations_total", "What was given up, by stage and reason", ["stage", "reason"], registry=here
        )
        self.attempts = Counter(
            "headway_attempts_total", "Calls to the outside by outcome", ["backend", "model", "outcome"], registry=here
        )
        self.retries = Counter("headway_retries_total", "Attempts after the first of a stage", ["stage"], registry=here)
        self.hedges = Counter("headway_hedges_total", "Calls that came as hedges", ["method"], registry=here)
        self.ttft = Histogram(
            "headway_ttft_seconds",
            "Time to the first token of a model",
            ["backend", "model"],
            buckets=BUCKETS,
            registry=here,
        )
        self.tpot = Histogram(
            "headway_tpot_seconds",
            "Time per output token after the first",
            ["backend", "model"],
            buckets=TOKEN_BUCKETS,
            registry=here,
        )
        self.tokens = Counter(
            "headway_tokens_total",
            "Tokens by kind (input includes both cache kinds)",
            ["backend", "model", "kind"],
            registry=here,
        )
        self.cost = Counter("headway_cost_usd_total", "Cost in US dollars", ["backend", "model"], registry=here)
        self.ready = Gauge("headway_ready", "1 when a hosted service is ready, else 0", ["of"], registry=here)
        self.cache_losses = Counter(
            "headway_prompt_cache_losses_total",
            "Times that a prefix stopped being read from a provider's prompt cache",
            ["backend", "model"],
            registry=here,
        )
        self.queue = Gauge("headway_queue_length", "Work waiting for a worker, by queue", ["queue"], registry=here)

    def know_models(self, models: Collection[str]) -> None:
        """States which models are configured; all others count as ``other`` from now on."""
        self._models = frozenset(models)

    def watch_queue(self, name: str, length: Callable[[], int]) -> None:
        """Shows the length of a queue, asked for at each scrape, from another thread."""
        self.queue.labels(name).set_function(length)

    @contextmanager
    def call(self, method: str) -> Iterator[None]:
        """Counts a call as under way."""
        gauge = self.in_flight.labels(method)
        gauge.inc()
        try:
            yield
        finally:
            gauge.dec()

    def ended(self, method: str, *, code: str, spent: float, left: float, hedge: bool) -> None:
        """A call has ended with that status after ``spent`` seconds, ``left`` before its deadline."""
        self.requests.labels(method, code).inc()
        self.request_duration.labels(method).observe(spent)
        if code != "CANCELLED":
            missed = left <= 0 or code == "DEADLINE_EXCEEDED"
            # Both series begin with the first call, so that a share of none is zero and not unknown.
            self.deadlines.labels(method, "missed").inc(missed)
            self.deadlines.labels(method, "hit").inc(not missed)
            self.slack.labels(method).observe(left)
        if hedge:
            self.hedges.labels(method).inc()

    def answered(self, *, finish: str, total: float, first_item: float | None) -> None:
        """A whole answer has ended; spans in seconds."""
        self.answer.labels(finish.lower()).observe(total)
        if first_item is not None:
            self.first_item.observe(first_item)

    def item(self, section: str, tier: str) -> None:
        """An item was sent."""
        self.items.labels(self._bounded("section", section), tier.lower()).inc()

    def prompt_cache_lost(self, backend: str, model: str) -> None:
        """A prefix that was read from a provider's prompt cache no longer is."""
        known = model if self._models is None or model in self._models else OTHER
        self.cache_losses.labels(self._bounded("backend", backend), self._bounded("model", known)).inc()

    def degraded(self, degraded: Degraded) -> None:
        """Something was given up."""
        self.degradations.labels(self._bounded("stage", degraded.stage), degraded.reason.name.lower()).inc()

    def stages(self, stages: Iterable[Stage]) -> None:
        """Stages have ended, with all their attempts."""
        for stage in stages:
            name = self._bounded("stage", stage.name)
            self.stage_duration.labels(name, self._bounded("rung", stage.rung)).observe(stage.spent)
            if stage.allowance is not None and stage.spent > stage.allowance:
                self.allowance_overruns.labels(name).inc()
            for number, attempt in enumerate(stage.attempts):
                self._attempt(attempt)
                if number:
                    self.retries.labels(name).inc()

    def _attempt(self, attempt: Attempt) -> None:
        backend = self._bounded("backend", attempt.backend)
        model = attempt.model if self._models is None or attempt.model in self._models else OTHER
        model = self._bounded("model", model)
        self.attempts.labels(backend, model, self._bounded("outcome", attempt.outcome)).inc()
        usage = attempt.usage
        if attempt.ttft is not None:
            self.ttft.labels(backend, model).observe(attempt.ttft)
            if usage.output_tokens > 1:
                self.tpot.labels(backend, model).observe((attempt.spent - attempt.ttft) / (usage.output_tokens - 1))
        counts = {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
        }
        for kind, count in counts.items():
            if count:
                self.tokens.labels(backend, model, kind).inc(count)
        if usage.cost_usd:
            self.cost.labels(backend, model).inc(usage.cost_usd)

    def _bounded(self, label: str, value: str) -> str:
        known = self._open.setdefault(label, set())
        if value in known:
            return value
        if len(known) >= MOST_VALUES:
            return OTHER
        known.add(value)
        return value


@asynccontextmanager
async def exposed(metrics: Metrics, host: str, port: int) -> AsyncIterator[int]:
    """Serves the metrics for Prometheus over HTTP; yields the port. Raises OSError when it cannot be bound.

    A thread of the library serves: a scrape must not wait for a busy loop, nor the loop for a scrape.
    """
    server, thread = start_http_server(port, addr=host, registry=metrics.registry)
    try:
        yield int(server.server_port)
    finally:
        await asyncio.to_thread(server.shutdown)  # it waits until the other thread has noticed, up to half a second
        server.server_close()
        thread.join(timeout=5)
