"""The measurements of the mesh, with a few requests: every figure that others rely on is there and adds up."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bench import machine, mesh, mesh_figures, scenario
from bench.mesh_direct import ItemCounter
from bench.mesh_levels import Level
from bench.processes import SERVICES, CannotStart, process, simulators, used

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time is read from /proc")

TINY = (
    Level(name="sequential", in_flight=1, block=2, blocks=2),
    Level(name="in_flight_8", in_flight=8, block=12, blocks=1),
    Level(name="in_flight_32", in_flight=32, block=36, blocks=1),
)


async def test_the_mesh_is_measured_against_direct_calls_with_its_own_prompts(tmp_path: Path) -> None:
    console = Console(width=80, highlight=False)
    found = await mesh.measure(TINY, console)
    file = tmp_path / "deep" / "mesh.json"
    mesh.write(file, machine.facts("bench.mesh", ["--quick"]) | found)
    written = json.loads(file.read_text(encoding="utf-8"))

    assert written["command"] == "python -m bench.mesh --quick"
    assert {"cpu", "cores", "python"} <= set(written["machine"])
    assert written["n"] == 4 + 4 + 4
    assert written["calls_per_request"] >= 1
    for level in ("sequential", "in_flight_8", "in_flight_32"):
        row = written[level]
        for what in ("first_item_ms", "total_ms"):
            for quantile in ("p50", "p99"):
                difference = row["mesh"][what][quantile] - row["direct"][what][quantile]
                assert row[f"added_{what}"][quantile] == pytest.approx(difference, abs=0.002)
        assert row["mesh"]["first_item_ms"]["p50"] <= row["mesh"]["total_ms"]["p50"]
        assert row["mesh"]["items_per_request"] == row["direct"]["items_per_request"] > 1
        assert row["direct_raw"]["items_per_request"] == row["direct"]["items_per_request"]
    assert set(written["cpu_ms"]) == set(written["rss_mb"]) == set(SERVICES)
    assert written["cpu_ms_per_request"] == pytest.approx(sum(written["cpu_ms"].values()), abs=0.05)
    assert written["cpu_ms_per_request"] > 0
    assert min(written["rss_mb"].values()) > 10
    assert written["requests_per_second"] > 0

    with console.capture() as capture:
        mesh_figures.show(found, [level.name for level in TINY], console)
    assert "added over direct raw" in capture.get()


async def test_an_ordinary_day_is_measured_for_each_deadline() -> None:
    options = scenario.parser().parse_args(
        ["--requests", "3", "--rate", "4", "--warmup", "500ms", "--late-limit", "20s"]
    )
    found = await scenario.measure(options, ["5s", "150ms"], Console())
    assert [found[name]["n"] for name in ("deadline_5s", "deadline_150ms")] == [3, 3]
    assert found["deadline_5s"]["items"] > 3
    assert set(found["deadline_150ms"]["tiers"]) <= {"extractive"}


async def test_processes_end_with_their_block_and_say_what_they_used() -> None:
    async with simulators(scenario="zero") as upstream:
        assert used(upstream.pid).rss_mb > 10
        assert used(upstream.pid).cpu_seconds > 0
    with pytest.raises(FileNotFoundError):
        used(upstream.pid)


async def test_a_process_that_ends_too_soon_is_quoted(tmp_path: Path) -> None:
    async def never() -> bool:
        return False

    async with process("simulators", ["--scenario", "none-such"], {}, log=tmp_path / "log") as child:
        with pytest.raises(CannotStart, match=r"(?s)simulators ended with 78.*none-such"):
            await child.until_ready(never)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_items_of_a_direct_answer_are_counted_as_they_close(size: int) -> None:
    text = '{"items": [{"title": "a } \\" {", "sources": ["r1"]}, {"title": "b", "x": {"y": {}}}]}'
    counter = ItemCounter()
    found = [counter.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert sum(found) == 2
