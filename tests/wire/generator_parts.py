"""A generator over real gRPC whose providers are simulators that misbehave as told."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import grpc

from headway.budget import Budget
from headway.interceptors import BUDGET_KEY
from headway.messages import budget_to_message
from headway.server import Hosted, always_ready
from headway.settings import read
from headway.telemetry import Telemetry
from headway.testing import hosting, plain_channel
from headway.v1 import generator_pb2, generator_pb2_grpc, item_pb2, ledger_pb2, retrieval_pb2
from services.generator.config import GeneratorConfig
from services.generator.furnishing import furnished, opened
from services.generator.service import GeneratorService
from simulators import scenario_file
from simulators.server import Simulation, running

TRAVEL = Path(__file__).parents[2] / "domains" / "travel"
NAMES = ("성산일출봉", "섭지코지", "한라산", "만장굴", "우도", "비자림", "협재해변", "천지연폭포")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A generator and the simulators it calls."""

    target: str
    simulation: Simulation


@asynccontextmanager
async def generator(
    *faults: str,
    per_token: float = 0.0,
    first_token: float = 0.0,
    providers: str = "anthropic",
    settings: Mapping[str, str] = MappingProxyType({}),
    telemetry: Telemetry | None = None,
) -> AsyncIterator[Running]:
    """Serves a generator. ``faults``: tables of a scenario, for example ``name = "stall"``; ``providers`` in order of
    preference; ``settings`` by name without ``HEADWAY_``, in lower case."""
    text = f'extends = "zero"\n[tiers.small]\nper_token = {per_token}\nfirst_token_cold = {first_token}\n'
    text += f"first_token_cached = {first_token}\n"
    text += f"[tiers.large]\nper_token = {per_token}\n"
    text += "".join(f"[[faults]]\n{fault}\n" for fault in faults)
    async with running(scenario=scenario_file.read(text, name="wire")) as simulation:
        environment = environment_of(simulation, providers.split(), settings)
        async with (
            opened(furnished(read(GeneratorConfig, environment)), clock=time.monotonic) as desk,
            hosting(hosted(service := GeneratorService(desk, first_item_within=1.2))) as target,
        ):
            if telemetry is not None:
                service.watch(telemetry)
            simulation.world.journal.reset()
            yield Running(target=target, simulation=simulation)


def hosted(service: GeneratorService) -> Hosted:
    return Hosted(
        name="headway.v1.GeneratorService",
        register=lambda server: generator_pb2_grpc.add_GeneratorServiceServicer_to_server(service, server),
        check=always_ready,
    )


def environment_of(simulation: Simulation, providers: list[str], settings: Mapping[str, str]) -> dict[str, str]:
    found = {
        "HEADWAY_DOMAIN": str(TRAVEL),
        "HEADWAY_ANTHROPIC_BASE_URL": simulation.anthropic_url,
        "HEADWAY_OPENAI_BASE_URL": simulation.openai_url,
        "HEADWAY_GENERATOR_WARM_CONNECTIONS": "1",
        "HEADWAY_PREFERRED_PROVIDER": providers[0] if providers else "anthropic",
    }
    found |= {f"HEADWAY_{provider.upper()}_API_KEY": "key" for provider in providers}
    return found | {f"HEADWAY_{name.upper()}": value for name, value in settings.items()}


def record(number: int) -> retrieval_pb2.Record:
    name = NAMES[number % len(NAMES)] + (str(number // len(NAMES)) if number >= len(NAMES) else "")
    found = retrieval_pb2.Record(
        record_id=f"jeju-{number}", section="sights", kind="sight", name=name, description=f"{name}에 대한 설명입니다."
    )
    found.facts = f"{name}: 제주의 볼거리, 걷기 좋은 길"
    found.place.latitude, found.place.longitude = 33.0 + number / 100, 126.5
    found.place.address, found.place.city, found.place.country = "서귀포시", "jeju", "KR"
    found.attributes["price_level"] = 1
    return found


def request(count: int = 3, records: int = 6, **fields: Any) -> generator_pb2.GenerateRequest:
    return generator_pb2.GenerateRequest(
        **{
            "query": "제주도 3박4일 가족여행",
            "language": "ko",
            "section": "sights",
            "count": count,
            "records": [record(number) for number in range(records)],
            **fields,
        }
    )


async def generate(
    target: str,
    asked: generator_pb2.GenerateRequest | None = None,
    *,
    timeout: float = 10.0,
    budget: Budget | None = None,
) -> list[generator_pb2.GenerateResponse]:
    """All events of one call."""
    metadata = () if budget is None else ((BUDGET_KEY, budget_to_message(budget).SerializeToString()),)
    async with plain_channel(target) as channel:
        stub: Any = generator_pb2_grpc.GeneratorServiceStub(channel)
        return [event async for event in stub.Generate(asked or request(), timeout=timeout, metadata=metadata)]


def kinds(events: list[generator_pb2.GenerateResponse]) -> list[str]:
    return [event.WhichOneof("event") or "" for event in events]


def items(events: list[generator_pb2.GenerateResponse]) -> list[item_pb2.Item]:
    return [event.item for event in events if event.HasField("item")]


def notices(events: list[generator_pb2.GenerateResponse]) -> list[ledger_pb2.Notice]:
    return [event.notice for event in events if event.HasField("notice")]


def summary(events: list[generator_pb2.GenerateResponse]) -> generator_pb2.GenerateSummary:
    assert kinds(events)[-1] == "summary"
    return events[-1].summary


def outcomes(events: list[generator_pb2.GenerateResponse]) -> list[tuple[str, str]]:
    """Backend and outcome of each attempt."""
    return [(attempt.backend, attempt.outcome) for stage in summary(events).stages for attempt in stage.attempts]


def tiers(events: list[generator_pb2.GenerateResponse]) -> list[str]:
    return [item_pb2.Tier.Name(item.tier).removeprefix("TIER_").lower() for item in items(events)]


def status_of(error: grpc.aio.AioRpcError) -> grpc.StatusCode:
    code: grpc.StatusCode = error.code()
    return code
