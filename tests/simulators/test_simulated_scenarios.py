from __future__ import annotations

import statistics
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from simulators.arrivals import Bursts, Poisson, replayed
from simulators.draws import Draws
from simulators.faults import CONDITIONS, KINDS, Chooser, Fault, parsed
from simulators.latency import Constant, Empirical, LogNormal, parse
from simulators.reading import ScenarioError
from simulators.scenario_file import FOLDER, load, read


class TestLatency:
    def test_a_log_normal_has_the_median_and_the_percentile_it_was_given(self):
        rng = Random(5)
        drawn = sorted(LogNormal(p50=0.8, p95=2.2).draw(rng) for _ in range(20_000))
        assert drawn[10_000] == pytest.approx(0.8, rel=0.03)
        assert drawn[19_000] == pytest.approx(2.2, rel=0.04)

    def test_an_empirical_one_stays_within_its_samples_and_keeps_their_quantiles(self, tmp_path):
        (tmp_path / "seen.csv").write_text("when,ms\n" + "\n".join(f"{nth},{nth * 10}" for nth in range(101)))
        latency = parse({"file": "seen.csv", "column": "ms", "scale": 0.001}, folder=tmp_path)
        rng = Random(5)
        drawn = sorted(latency.draw(rng) for _ in range(10_000))
        assert drawn[0] >= 0
        assert drawn[-1] <= 1.0
        assert statistics.median(drawn) == pytest.approx(0.5, abs=0.02)

    def test_a_file_of_one_number_a_line_will_do(self, tmp_path):
        (tmp_path / "seen.txt").write_text("0.1\n0.3\n\n")
        assert parse({"file": "seen.txt"}, folder=tmp_path) == Empirical(samples=(0.1, 0.3))

    def test_a_number_is_constant(self):
        assert parse(1, folder=Path()) == Constant(seconds=1.0)

    @pytest.mark.parametrize(
        "value", [-1, "1s", True, {"p50": 1}, {"p50": 2, "p95": 1}, {"p50": 0, "p95": 1}, {"file": "missing"}, {}, [1]]
    )
    def test_what_is_not_a_latency_is_refused(self, value, tmp_path):
        with pytest.raises(ValueError, match=r".+"):
            parse(value, folder=tmp_path)

    @pytest.mark.parametrize("content", ["", "fast\n", "-1\n", b"\xff"])
    def test_a_file_without_usable_numbers_is_refused(self, content, tmp_path):
        path = tmp_path / "bad"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ValueError, match=r".+"):
            parse({"file": "bad"}, folder=tmp_path)


class TestDraws:
    def test_they_depend_on_the_seed_what_is_asked_and_how_often_but_not_on_the_order(self):
        def drawn(seed: int, asked: str) -> dict[str, float]:
            draws, found = Draws(seed=seed), {}
            for nth, each in enumerate(asked):
                found[f"{each}{asked[:nth].count(each)}"] = draws.of("e", each.encode()).random()
            return found

        assert drawn(1, "aab") == drawn(1, "aba") == drawn(1, "baa")
        assert drawn(1, "aab") != drawn(2, "aab")
        assert len(set(drawn(1, "aab").values())) == 3

    def test_endpoints_have_their_own(self):
        draws = Draws(seed=1)
        assert draws.of("a", b"x").random() != draws.of("b", b"x").random()


class TestArrivals:
    @pytest.mark.parametrize("pattern", [Poisson(rate=50.0), Bursts(rate=50.0, size=10)])
    def test_the_mean_rate_is_what_was_asked_for(self, pattern):
        assert 1 / statistics.mean(islice(pattern.gaps(Random(3)), 20_000)) == pytest.approx(50, rel=0.1)

    def test_bursts_come_at_once(self):
        gaps = list(islice(Bursts(rate=50.0, size=10).gaps(Random(3)), 100))
        assert sum(gap == 0 for gap in gaps) == 90

    @pytest.mark.parametrize("column", ["seconds", "instant"])
    def test_a_trace_is_replayed_with_its_own_gaps_only_faster(self, tmp_path, column):
        path = tmp_path / "trace.csv"
        path.write_text(
            "seconds,instant\n5,2026-01-01 00:00:05.0000000\n"
            "1,2026-01-01 00:00:01.0000000\n2.5,2026-01-01 00:00:02.5000000\n"
        )
        assert list(replayed(path, column=column, speed=2.0).gaps(Random(1))) == [0.75, 1.25]

    @pytest.mark.parametrize("content", ["t\n1\n", "x\n1\n2\n", "t\nnoon\nlater\n"])
    def test_what_is_not_a_trace_is_refused(self, tmp_path, content):
        path = tmp_path / "trace.csv"
        path.write_text(content)
        with pytest.raises(ValueError, match=r".+"):
            replayed(path, column="t")


class TestScenarios:
    @pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
    def test_every_scenario_that_ships_can_be_used_and_says_what_it_is(self, path):
        assert load(path.stem).description

    @pytest.mark.parametrize(
        ("model", "tier"),
        [
            ("claude-haiku-5-5", "small"),
            ("claude-sonnet-5-5", "large"),
            ("claude-opus-5", "large"),
            ("gpt-6-sol", "large"),
            ("gpt-6-luna", "small"),
            ("gpt-6-mini", "small"),
            ("gpt-6-nano", "small"),
            ("some-large-model", "large"),
        ],
    )
    def test_names_of_models_lead_to_tiers(self, model, tier):
        assert load("default").model(model).tier == tier

    def test_a_model_nobody_has_is_unknown(self):
        assert load("default").model("gemini-pro") is None

    def test_one_scenario_may_change_another(self):
        changed = read('extends = "default"\n[tiers.small]\nper_token = 0.001\n[web]\nlatency = 1', name="mine")
        assert changed.tier("small").per_token == Constant(seconds=0.001)
        assert changed.tier("small").first_token_cold == load("default").tier("small").first_token_cold
        assert changed.web.latency == Constant(seconds=1.0)
        assert changed.models == load("default").models

    def test_every_fault_is_reported_at_once_by_its_place(self):
        text = """
            surprise = 1
            [web]
            latency = "slow"
            stall = { chance = 2 }
            [tiers.large]
            first_token_cold = { p50 = 1 }
            slots = -1
            [[models]]
            match = "*"
            tier = "huge"
            [[faults]]
            name = "gremlins"
            [[faults]]
            name = "stall"
            seconds = "long"
            [tiers.large.background]
            arrivals = { file = "missing.csv", column = "t" }
        """
        with pytest.raises(ScenarioError) as caught:
            read(text, name="bad")
        for words in (
            "surprise",
            "web.latency",
            "web.stall.chance",
            "first_token_cold",
            "slots",
            "'huge'",
            "gremlins",
            "seconds",
            "missing.csv",
        ):
            assert any(words in fault for fault in caught.value.faults), words

    @pytest.mark.parametrize("text", ["", "= 1", 'extends = "nowhere"', "models = 3", "[[models]]\nmatch = 3"])
    def test_what_is_no_scenario_is_refused(self, text):
        with pytest.raises(ScenarioError):
            read(text, name="bad")


class TestFaults:
    def test_a_header_may_ask_for_several_with_parameters(self):
        stall, pings = parsed("stall;tokens=5;seconds=0.5, pings;seconds=0.1")
        assert (stall.name, stall.whole("tokens"), stall.number("seconds")) == ("stall", 5, 0.5)
        assert pings.number("seconds") == 0.1

    @pytest.mark.parametrize("header", ["gremlins", "stall;5", "stall;x=1", "stall;seconds=soon", "stall;seconds=nan"])
    def test_what_is_not_understood_is_refused(self, header):
        with pytest.raises(ValueError, match=r".+"):
            parsed(header)

    def chosen(self, chooser: Chooser, header: str | None = None, **options: object) -> set[str]:
        known = {"endpoint": "openai.chat", "model": "gpt-6-sol", "now": 10.0, "rng": Random(1)}
        return set(chooser.choose(header, **{**known, **options}))

    def test_a_standing_fault_applies_where_and_when_its_conditions_hold(self):
        chooser = Chooser([Fault.of("overloaded", {"endpoint": "anthropic.*", "since": 5, "until": 15})])
        assert self.chosen(chooser) == set()
        assert self.chosen(chooser, endpoint="anthropic.messages") == {"overloaded"}
        assert self.chosen(chooser, endpoint="anthropic.messages", now=15.0) == set()
        assert self.chosen(chooser, endpoint="anthropic.messages", now=4.9) == set()

    def test_a_request_may_be_spared_and_may_ask_for_its_own(self):
        chooser = Chooser([Fault.of("stall", {"seconds": 1})])
        assert self.chosen(chooser, "none") == set()
        assert self.chosen(chooser, "overloaded") == {"stall", "overloaded"}
        both = chooser.choose("stall;seconds=2", endpoint="", model="", now=0.0, rng=Random(1))
        assert both["stall"].number("seconds") == 2

    def test_a_fault_may_occur_only_so_many_times(self):
        chooser = Chooser([])
        assert [bool(self.chosen(chooser, "overloaded;times=2")) for _ in range(3)] == [True, True, False]
        assert self.chosen(chooser, "overloaded;times=2;tag=other") == {"overloaded"}

    def test_a_fault_may_occur_with_a_chance(self):
        chooser, rng = Chooser([Fault.of("overloaded", {"chance": 0.25})]), Random(1)
        assert sum(bool(self.chosen(chooser, rng=rng)) for _ in range(4000)) == pytest.approx(1000, rel=0.1)

    def test_every_fault_and_condition_is_in_the_readme(self):
        text = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
        for name, parameters in KINDS.items():
            line = next((line for line in text.splitlines() if line.startswith(f"| `{name}`")), None)
            assert line, name
            assert all(f"`{parameter}`" in line for parameter in parameters), line
        assert all(f"`{condition}`" in text for condition in CONDITIONS)
