"""Readiness as a metric, for alerts."""

from __future__ import annotations

from headway.server import Hosted
from headway.telemetry import Telemetry
from headway.testing import eventually, hosting


async def test_a_service_tells_its_watchers_whether_it_is_ready() -> None:
    missing = ["the index is not loaded"]
    watched: list[Telemetry] = []

    async def check() -> str:
        return missing[0] if missing else ""

    hosted = Hosted(name="headway.v1.X", register=lambda server: None, check=check, watch=watched.append)
    async with hosting(hosted):
        [telemetry] = watched

        def ready() -> float | None:
            return telemetry.metrics.registry.get_sample_value("headway_ready", {"of": "headway.v1.X"})

        await eventually(lambda: ready() == 0.0)
        missing.clear()
        await eventually(lambda: ready() == 1.0)
        missing.append("the index is gone")
        await eventually(lambda: ready() == 0.0)
