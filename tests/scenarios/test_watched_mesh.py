"""One request through the mesh that ships, as real processes: its trace in a collector, its metrics at each service."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from bench import processes
from headway.testing import PATIENCE
from tests.wire.collector import Collector, Seen, collecting
from tests.wire.scripted import Event, ask, items

QUERY = "제주도 3박4일 가족여행"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What was left behind: the answer, the spans, the metrics by service, and what the simulators were asked."""

    events: list[Event]
    collector: Collector
    metrics: dict[str, dict[str, Metric]]
    asked: list[dict[str, Any]]

    @property
    def root(self) -> Seen:
        [found] = self.collector.named("headway.v1.RecommendationService/Recommend")
        return found

    def total(self, service: str, family: str, sample: str = "", **labels: str) -> float:
        return sum(
            each.value
            for each in self.metrics[service][family].samples
            if each.name == (sample or f"{family}_total") and labels.items() <= each.labels.items()
        )


async def _watch() -> Watched:
    async with collecting() as collector, processes.simulators() as upstream:
        settings = {"HEADWAY_OTLP_ENDPOINT": collector.url, "HEADWAY_TRACE_PROVIDERS": "on"}
        async with processes.mesh(upstream, environment=settings) as mesh:
            async with aiohttp.ClientSession() as session:
                await session.delete(f"{upstream.url}/control/requests")
                events = await ask(mesh.target, query=QUERY, timeout=10.0 * PATIENCE)
                metrics = {name: await _scraped(session, address) for name, address in mesh.addresses.items()}
                async with session.get(f"{upstream.url}/control/requests") as answer:
                    asked = (await answer.json())["requests"]
        # Leaving exports what is left.
    return Watched(events=events, collector=collector, metrics=metrics, asked=asked)


async def _scraped(session: aiohttp.ClientSession, address: str) -> dict[str, Metric]:
    host, _, port = address.rpartition(":")
    async with session.get(f"http://{host}:{int(port) + processes.METRICS_OFFSET}/metrics") as answer:
        return {family.name: family for family in text_string_to_metric_families(await answer.text())}


@pytest.fixture(scope="module")
def watched() -> Watched:
    return asyncio.run(_watch())


def test_the_request_is_one_trace_whose_parts_hang_together(watched: Watched) -> None:
    spans = [span for span in watched.collector.spans if span.trace_id == watched.root.trace_id]
    assert {span.service for span in spans} == {
        "headway-recommendation",
        "headway-router",
        "headway-retrieval",
        "headway-generator",
    }
    assert watched.root.parent_id == b""
    assert [span.name for span in spans if span is not watched.root and watched.collector.parent(span) is None] == []


def test_every_attempt_is_a_child_of_its_stage_and_lies_within_it(watched: Watched) -> None:
    attempts = [span for span in watched.collector.spans if span.attributes.get("gen_ai.operation.name")]
    assert {span.attributes["gen_ai.operation.name"] for span in attempts} == {"chat", "retrieval"}
    for span in attempts:
        stage = watched.collector.parent(span)
        assert stage is not None
        assert stage.attributes["headway.stage"].startswith(("generator.", "retrieval.web"))
        assert stage.start <= span.start <= span.end <= stage.end + 1_000_000


def test_each_service_tells_its_own_stages(watched: Watched) -> None:
    by_service: dict[str, set[str]] = {}
    for span in watched.collector.spans:
        if "headway.stage" in span.attributes:
            by_service.setdefault(span.service, set()).add(span.attributes["headway.stage"])
    assert by_service["headway-router"] == {
        "router",
        "router.embed",
        "router.slots",
        "router.language",
        "router.intent",
    }
    assert by_service["headway-retrieval"] == {"retrieval.internal", "retrieval.web"}
    assert by_service["headway-generator"] >= {"generator.lodging", "generator.food", "generator.sights"}


def test_the_metrics_count_the_same_stages_as_the_ledger(watched: Watched) -> None:
    ledger = watched.events[-1].summary.ledger
    for service, prefix in (("retrieval", "retrieval."), ("generator", "generator.")):
        in_ledger = sum(stage.name.startswith(prefix) for stage in ledger)
        name = "headway_stage_duration_seconds"
        assert watched.total(service, name, f"{name}_count") == in_ledger
    attempts = sum(len(stage.attempts) for stage in ledger)
    assert (
        watched.total("generator", "headway_attempts") + watched.total("retrieval", "headway_attempts") == attempts > 0
    )


def test_models_that_are_configured_keep_their_names(watched: Watched) -> None:
    models = {each.labels["model"] for each in watched.metrics["generator"]["headway_attempts"].samples}
    assert models
    assert "other" not in models


def test_tokens_and_cost_are_those_of_the_summary(watched: Watched) -> None:
    usage = watched.events[-1].summary.usage
    assert watched.total("generator", "headway_tokens", kind="input") == usage.input_tokens > 0
    assert watched.total("generator", "headway_tokens", kind="output") == usage.output_tokens > 0
    assert watched.total("generator", "headway_cost_usd") == pytest.approx(usage.cost_usd)


def test_items_and_first_items_are_counted_where_the_answer_leaves(watched: Watched) -> None:
    assert watched.total("orchestrator", "headway_items") == len(items(watched.events)) > 0
    assert watched.total("orchestrator", "headway_first_item_seconds", "headway_first_item_seconds_count") == 1


def test_the_queue_of_the_encoder_is_shown_from_the_start(watched: Watched) -> None:
    for service in ("router", "retrieval"):
        [sample] = watched.metrics[service]["headway_queue_length"].samples
        assert sample.labels == {"queue": "encoder"}


def test_neither_query_nor_prompt_nor_items_are_recorded_unless_switched_on(watched: Watched) -> None:
    recorded = "\n".join(str(span.attributes) for span in watched.collector.spans)
    assert QUERY not in recorded
    assert not [item.title for item in items(watched.events) if item.title in recorded]


def test_providers_get_the_context_of_the_trace_where_that_is_switched_on(watched: Watched) -> None:
    trace = watched.root.trace_id.hex()
    carried = [each["headers"].get("traceparent", "") for each in watched.asked]
    assert carried
    assert all(header.split("-")[1] == trace for header in carried)
