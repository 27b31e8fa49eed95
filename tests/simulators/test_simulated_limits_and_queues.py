from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import anthropic
import openai
import pytest
from simulated_asks import ITEM_SCHEMA, PROMPT, scenario_of

FORM: dict[str, Any] = {"format": {"type": "json_schema", "schema": ITEM_SCHEMA}}


async def claude_asked(client: anthropic.AsyncAnthropic, **options: Any) -> Any:
    known: dict[str, Any] = {
        "model": "claude-sonnet-5",
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": PROMPT}],
    }
    return await client.messages.with_raw_response.create(**{**known, **options})


async def gpt_asked(client: openai.AsyncOpenAI, **options: Any) -> Any:
    known: dict[str, Any] = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": PROMPT}]}
    return await client.chat.completions.with_raw_response.create(**{**known, **options})


class TestAnthropicLimits:
    async def test_what_is_left_stands_on_every_response_with_an_instant_of_reset(self, start, claude):
        limited = await start(
            scenario_of("[anthropic_limits]\nrequests_per_minute = 60\ninput_tokens_per_minute = 9000")
        )
        headers = (await claude_asked(claude(limited))).headers
        assert headers["anthropic-ratelimit-requests-limit"] == "60"
        assert headers["anthropic-ratelimit-requests-remaining"] == "59"
        assert 8000 < int(headers["anthropic-ratelimit-input-tokens-remaining"]) < 9000
        reset = datetime.strptime(headers["anthropic-ratelimit-requests-reset"], "%Y-%m-%dT%H:%M:%SZ").replace(
            tzinfo=UTC
        )
        assert 0 <= reset.timestamp() - time.time() <= 3
        assert "anthropic-ratelimit-output-tokens-limit" not in headers

    async def test_used_up_requests_are_429_with_the_seconds_until_the_next(self, start, claude):
        limited = await start(scenario_of("[anthropic_limits]\nrequests_per_minute = 2"))
        client = claude(limited)
        for _ in range(2):
            await claude_asked(client)
        with pytest.raises(anthropic.RateLimitError) as caught:
            await claude_asked(client)
        assert 28 <= int(caught.value.response.headers["retry-after"]) <= 30
        assert caught.value.response.headers["anthropic-ratelimit-requests-remaining"] == "0"
        limited.skip(30)
        await claude_asked(client)

    async def test_tokens_are_counted_when_they_are_known_and_leave_a_debt(self, start, claude):
        limited = await start(scenario_of("[anthropic_limits]\noutput_tokens_per_minute = 60"))
        client = claude(limited)
        await claude_asked(client)
        with pytest.raises(anthropic.RateLimitError, match="output tokens"):
            await claude_asked(client)
        limited.skip(limited.requests[0].output_tokens)
        await claude_asked(client)

    async def test_what_is_read_from_the_cache_does_not_count(self, start, claude):
        limited = await start(scenario_of("[anthropic_limits]\ninput_tokens_per_minute = 100000"))
        client = claude(limited)
        system = [{"type": "text", "text": "A guide. " * 1500, "cache_control": {"type": "ephemeral"}}]

        async def left() -> int:
            response = await claude_asked(client, system=system)
            return int(response.headers["anthropic-ratelimit-input-tokens-remaining"])

        first, second = await left(), await left()
        assert 100_000 - first > 3000
        assert first - second < 300

    async def test_workspaces_and_families_of_models_have_limits_of_their_own(self, start, claude):
        limited = await start(scenario_of("[anthropic_limits]\nrequests_per_minute = 1"))
        await claude_asked(claude(limited))
        await claude_asked(claude(limited), model="claude-haiku-5-5")
        await claude_asked(claude(limited, api_key="another"))
        with pytest.raises(anthropic.RateLimitError):
            await claude_asked(claude(limited), model="claude-sonnet-5-5")


class TestOpenAILimits:
    async def test_what_is_left_stands_on_every_response_with_a_duration_of_reset(self, start, gpt):
        limited = await start(scenario_of("[openai_limits]\nrequests_per_minute = 5000\ntokens_per_minute = 40000"))
        headers = (await gpt_asked(gpt(limited), max_completion_tokens=1000)).headers
        assert headers["x-ratelimit-limit-requests"] == "5000"
        assert headers["x-ratelimit-remaining-requests"] == "4999"
        assert headers["x-ratelimit-reset-requests"].endswith("ms")
        assert 38_000 < int(headers["x-ratelimit-remaining-tokens"]) < 39_000
        assert headers["x-ratelimit-reset-tokens"][0] in "12"

    async def test_the_output_that_is_asked_for_counts_beforehand(self, start, gpt):
        limited = await start(scenario_of("[openai_limits]\ntokens_per_minute = 6000"))
        client = gpt(limited)
        await gpt_asked(client, max_completion_tokens=5000)
        with pytest.raises(openai.RateLimitError, match="tokens per min") as caught:
            await gpt_asked(client, max_completion_tokens=5000)
        wait = int(caught.value.response.headers["retry-after"])
        assert int(caught.value.response.headers["retry-after-ms"]) == pytest.approx(wait * 1000, abs=1000)
        assert (caught.value.code, caught.value.type) == ("rate_limit_exceeded", "tokens")
        limited.skip(wait)
        await gpt_asked(client, max_completion_tokens=5000)


class TestWhatTakesTime:
    async def took(self, asked: Any) -> float:
        began = time.monotonic()
        await asked
        return time.monotonic() - began

    async def test_a_schema_is_compiled_once_a_day(self, start, claude):
        slow = await start(scenario_of("schema_compile = 0.4"))
        client = claude(slow)
        assert await self.took(claude_asked(client, output_config=FORM)) >= 0.4
        assert await self.took(claude_asked(client, output_config=FORM)) < 0.4
        assert await self.took(claude_asked(client)) < 0.4
        slow.skip(24 * 3600 + 1)
        assert await self.took(claude_asked(client, output_config=FORM)) >= 0.4

    async def test_a_new_connection_pays_for_being_set_up(self, start, claude):
        far = await start(scenario_of("connection_setup = 0.3"))
        client = claude(far)
        assert await self.took(claude_asked(client)) >= 0.3
        assert await self.took(claude_asked(client)) < 0.3
        assert [entry.new_connection for entry in far.requests] == [True, False]

    async def test_listing_the_models_warms_a_connection(self, start, claude):
        far = await start(scenario_of("connection_setup = 0.3"))
        client = claude(far)
        await client.models.list()
        assert await self.took(claude_asked(client)) < 0.3

    async def test_regions_differ_in_their_round_trip(self, start, claude):
        world = await start(
            scenario_of("[regions.near]\nround_trip = 0\n[regions.far]\nround_trip = 0.15\nslowdown = 2")
        )
        near, far = claude(world.region("near")), claude(world.region("far"))
        assert await self.took(claude_asked(near)) < 0.45
        assert await self.took(claude_asked(far)) >= 0.45
        assert 0.15 <= await self.took(claude_asked(far)) < 0.45
        with pytest.raises(anthropic.NotFoundError):
            await claude_asked(claude(world.region("nowhere")))

    async def test_a_region_may_be_slower(self, start, claude):
        world = await start(scenario_of("[tiers.large]\nfirst_token_cold = 0.2\n[regions.busy]\nslowdown = 2"))
        assert await self.took(claude_asked(claude(world.region("busy")))) >= 0.4

    async def test_uncached_input_may_cost_time(self, start, claude):
        slow = await start(scenario_of("[tiers.large]\nper_input_token = 0.0001"))
        client = claude(slow)
        system = [{"type": "text", "text": "A guide. " * 2000, "cache_control": {"type": "ephemeral"}}]
        assert await self.took(claude_asked(client, system=system)) >= 0.4
        assert await self.took(claude_asked(client, system=system)) < 0.3

    async def test_the_hour_of_the_day_makes_everything_slower_and_faster(self, start, claude):
        day = await start(scenario_of("[day]\nswing = 0.9\nperiod = 1000\n[tiers.large]\nfirst_token_cold = 0.3"))
        client = claude(day)
        assert await self.took(claude_asked(client)) >= 0.5
        day.skip(500)
        assert await self.took(claude_asked(client)) < 0.3

    async def test_calls_beyond_a_tier_s_slots_wait_their_turn(self, start, claude):
        queued = await start(scenario_of("[tiers.large]\nslots = 1\nfirst_token_cold = 0.15"))
        clients = [claude(queued) for _ in range(3)]
        times = await asyncio.gather(*(self.took(claude_asked(client)) for client in clients))
        assert min(times) < 0.3
        assert max(times) >= 0.45

    async def test_a_call_given_up_while_it_waits_leaves_its_place(self, start, claude):
        queued = await start(scenario_of("[tiers.large]\nslots = 1"))
        holder = await claude(queued).messages.create(
            model="claude-sonnet-5",
            max_tokens=20,
            stream=True,
            messages=[{"role": "user", "content": PROMPT}],
            extra_headers={"x-simulate": "stall;tokens=1;seconds=30"},
        )
        with pytest.raises(anthropic.APITimeoutError):
            await claude_asked(claude(queued, timeout=0.2))
        await holder.close()
        await queued.until(lambda requests: all(entry.ended is not None for entry in requests))
        await claude_asked(claude(queued))
        assert [entry.outcome for entry in queued.requests] == ["disconnected", "disconnected", "complete"]

    async def test_each_other_call_in_flight_makes_the_tokens_slower(self, start, claude):
        crowded = await start(scenario_of("[tiers.large]\nper_token = 0.004\nslowdown = 1"))
        alone = await self.took(claude_asked(claude(crowded), max_tokens=50))
        clients = [claude(crowded) for _ in range(4)]
        times = await asyncio.gather(*(self.took(claude_asked(client, max_tokens=50)) for client in clients))
        assert max(times) > alone * 1.8

    async def test_the_calls_of_others_take_slots_too(self, start, claude):
        busy = await start(
            scenario_of(
                "[tiers.large]\nslots = 1\n[tiers.large.background]\nholds = 60\narrivals = { rate = 1000, burst = 5 }"
            )
        )
        late = {"x-simulate": "slow_headers;seconds=0.2"}
        with pytest.raises(anthropic.APITimeoutError):
            await claude_asked(claude(busy, timeout=0.5), extra_headers=late)
        await claude_asked(claude(busy), model="claude-haiku-5-5")


async def test_the_cost_of_a_stream_that_was_left_is_what_was_generated(start, claude):
    slow = await start(scenario_of("[tiers.large]\nper_token = 0.01"))
    with pytest.raises(anthropic.APITimeoutError):
        await claude_asked(claude(slow, timeout=0.3))
    await slow.until(lambda requests: requests[-1].ended is not None)
    assert 20 <= slow.requests[-1].output_tokens <= 45
