from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest
from simulated_asks import ITEM_SCHEMA, PROMPT, scenario_of

GUIDE = "A guide that never changes, not even by a byte. " * 150
OTHER = "A second part, which changes now and then. " * 150
SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}


def block(text: str, control: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": text} | ({"cache_control": control} if control else {})


async def usage(client: anthropic.AsyncAnthropic, **options: Any) -> anthropic.types.Usage:
    return (await asked(client, **options)).usage


async def asked(client: anthropic.AsyncAnthropic, **options: Any) -> anthropic.types.Message:
    known: dict[str, Any] = {
        "model": "claude-sonnet-5",
        "max_tokens": 20,
        "system": [block(GUIDE, SHORT)],
        "messages": [{"role": "user", "content": PROMPT}],
    }
    return await client.messages.create(**{**known, **options})


class TestAnthropic:
    async def test_an_entry_lives_for_five_minutes_from_its_last_use(self, zero, claude):
        client = claude(zero)
        written = (await usage(client)).cache_creation_input_tokens
        assert written > 1024
        for _ in range(3):
            zero.skip(290)
            assert (await usage(client)).cache_read_input_tokens == written
        zero.skip(301)
        assert (await usage(client)).cache_read_input_tokens == 0

    async def test_an_entry_may_live_for_an_hour(self, zero, claude):
        client = claude(zero)
        first = await usage(client, system=[block(GUIDE, LONG)])
        assert first.cache_creation.ephemeral_1h_input_tokens == first.cache_creation_input_tokens
        assert first.cache_creation.ephemeral_5m_input_tokens == 0
        zero.skip(3500)
        assert (await usage(client, system=[block(GUIDE, LONG)])).cache_read_input_tokens > 1024
        zero.skip(3601)
        assert (await usage(client, system=[block(GUIDE, LONG)])).cache_read_input_tokens == 0

    async def test_input_is_counted_once_wherever_it_is_billed(self, zero, claude):
        client = claude(zero)
        first, second = await usage(client), await usage(client)
        whole = zero.requests[-1].input_tokens
        for each in (first, second):
            assert each.input_tokens + each.cache_creation_input_tokens + each.cache_read_input_tokens == whole
        assert second.input_tokens == first.input_tokens < 200

    @pytest.mark.parametrize(("control", "price"), [(SHORT, 1.25), (LONG, 2.0)])
    async def test_writing_costs_more_and_reading_costs_less_than_ordinary_input(self, zero, claude, control, price):
        client = claude(zero)
        for _ in range(2):
            await usage(client, system=[block(GUIDE, control)])
        first, second = zero.requests
        kept = first.cache_write_tokens
        assert first.billed_input == pytest.approx(first.input_tokens - kept + kept * price)
        assert second.billed_input == pytest.approx(second.input_tokens - kept + kept * 0.1)

    async def test_two_breakpoints_are_read_as_far_as_both_agree(self, zero, claude):
        client = claude(zero)
        await usage(client, system=[block(GUIDE, LONG), block(OTHER, SHORT)])
        changed = await usage(client, system=[block(GUIDE, LONG), block(OTHER + "!", SHORT)])
        assert changed.cache_read_input_tokens > 1024
        assert changed.cache_creation_input_tokens > 1024
        assert changed.cache_creation.ephemeral_1h_input_tokens == 0

    async def test_a_prefix_shorter_than_the_model_s_minimum_is_silently_not_kept(self, zero, claude):
        client = claude(zero)
        some = [block("word " * 800, SHORT)]
        for _ in range(2):
            seen = await usage(client, system=some)
            assert (seen.cache_creation_input_tokens, seen.cache_read_input_tokens) == (0, 0)
        await usage(client, system=some, model="claude-opus-5")
        assert (await usage(client, system=some, model="claude-opus-5")).cache_read_input_tokens > 512

    @pytest.mark.parametrize(
        "change",
        [
            {"model": "claude-opus-5"},
            {"output_config": {"effort": "low"}},
            {"output_config": {"format": {"type": "json_schema", "schema": ITEM_SCHEMA}}},
            {"tools": [{"name": "look", "input_schema": {"type": "object"}}]},
            {"system": [block(" " + GUIDE, SHORT)]},
            {"extra_headers": {"x-api-key": "another workspace's"}},
        ],
    )
    async def test_what_comes_before_or_beside_the_prefix_loses_it(self, zero, claude, change):
        client = claude(zero)
        await usage(client)
        assert (await usage(client, **change)).cache_read_input_tokens == 0
        assert (await usage(client, **change)).cache_read_input_tokens > 1024

    async def test_the_order_of_keys_in_a_tool_counts(self, zero, claude):
        client = claude(zero)
        tool = {"name": "look", "description": "d", "input_schema": {"type": "object"}}
        await usage(client, tools=[tool])
        assert (await usage(client, tools=[dict(reversed(tool.items()))])).cache_read_input_tokens == 0

    async def test_an_entry_is_usable_only_once_the_response_that_wrote_it_has_begun(self, start, claude):
        slow = await start(scenario_of("[tiers.large]\nfirst_token_cold = 0.3"))
        client = claude(slow)
        together = await asyncio.gather(*(usage(client) for _ in range(3)))
        assert [each.cache_read_input_tokens for each in together] == [0, 0, 0]
        assert all(each.cache_creation_input_tokens > 1024 for each in together)

    async def test_it_is_usable_while_that_response_still_goes_on(self, zero, claude):
        client = claude(zero)
        first = await asked(client, stream=True, extra_headers={"x-simulate": "stall;tokens=5;seconds=30"})
        assert (await first.__anext__()).type == "message_start"
        assert (await usage(client)).cache_read_input_tokens > 1024
        await first.close()

    async def test_no_tokens_at_all_warm_the_cache_and_generate_nothing(self, zero, claude):
        client = claude(zero)
        warm = await asked(client, max_tokens=0)
        assert warm.content == []
        assert warm.usage.output_tokens == 0
        assert warm.usage.cache_creation_input_tokens > 1024
        assert (await usage(client)).cache_read_input_tokens == warm.usage.cache_creation_input_tokens

    async def test_the_last_block_is_cached_by_itself_when_the_request_says_so(self, zero, claude):
        client = claude(zero)
        options: dict[str, Any] = {"system": GUIDE, "extra_body": {"cache_control": SHORT}}
        first = await usage(client, **options)
        assert first.input_tokens == 0
        longer = [
            {"role": "user", "content": PROMPT},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "More?"},
        ]
        assert (
            await usage(client, messages=longer, **options)
        ).cache_read_input_tokens == first.cache_creation_input_tokens

    async def test_an_earlier_entry_is_looked_for_twenty_blocks_back_and_no_further(self, zero, claude):
        client = claude(zero)

        def turns(count: int) -> list[dict[str, Any]]:
            contents = [[block(f"line {nth}")] for nth in range(count)]
            contents[-1][0]["cache_control"] = SHORT
            return [
                {"role": "user" if nth % 2 == 0 else "assistant", "content": each} for nth, each in enumerate(contents)
            ]

        system = [block(GUIDE)]
        await usage(client, system=system, messages=turns(1))
        assert (await usage(client, system=system, messages=turns(21))).cache_read_input_tokens > 1024
        zero.forget()
        await usage(client, system=system, messages=turns(1))
        assert (await usage(client, system=system, messages=turns(23))).cache_read_input_tokens == 0

    @pytest.mark.parametrize(
        ("system", "words"),
        [
            ([block("x", SHORT)] * 5, "maximum of 4"),
            ([block("x", SHORT), block("y", LONG)], "must not come after"),
            ([block("x", {"type": "ephemeral", "ttl": "2h"})], "5m or 1h"),
        ],
    )
    async def test_breakpoints_have_rules(self, zero, claude, system, words):
        with pytest.raises(anthropic.BadRequestError, match=words):
            await usage(claude(zero), system=system)
        with pytest.raises(anthropic.BadRequestError, match="all are taken"):
            await usage(claude(zero), system=[block("x", SHORT)] * 4, extra_body={"cache_control": SHORT})

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"model": "claude-opus-5"}, "model_changed"),
            ({"tools": [{"name": "look", "input_schema": {"type": "object"}}]}, "tools_changed"),
            ({"system": [block("!" + GUIDE, SHORT)]}, "system_changed"),
            ({"messages": [{"role": "user", "content": "else"}]}, "messages_changed"),
            ({"output_config": {"effort": "low"}}, "unavailable"),
        ],
    )
    async def test_what_lost_the_cache_is_named_when_asked_for(self, zero, claude, change, reason):
        client = claude(zero)
        earlier = (await asked(client)).id
        later = await asked(client, diagnostics={"previous_message_id": earlier}, **change)
        assert later.diagnostics.cache_miss_reason.type == reason
        if reason in ("model_changed", "tools_changed", "system_changed"):
            assert later.diagnostics.cache_miss_reason.cache_missed_input_tokens > 1024

    async def test_without_a_divergence_there_is_nothing_to_name(self, zero, claude):
        client = claude(zero)
        first = await asked(client, diagnostics={"previous_message_id": None})
        assert first.diagnostics is None
        assert (await asked(client, diagnostics={"previous_message_id": first.id})).diagnostics is None
        lost = await asked(client, diagnostics={"previous_message_id": "msg_unknown"})
        assert lost.diagnostics.cache_miss_reason.type == "previous_message_not_found"


class TestOpenAI:
    async def cached(self, client: Any, content: Any, **options: Any) -> Any:
        messages = [{"role": "system", "content": content}, {"role": "user", "content": PROMPT}]
        answer = await client.chat.completions.create(model="gpt-6-sol", messages=messages, **options)
        return answer.usage.prompt_tokens_details

    async def test_only_what_differs_is_written_again(self, zero, gpt):
        client = gpt(zero)
        first = await self.cached(client, GUIDE)
        second = await self.cached(client, GUIDE + OTHER)
        assert first.cached_tokens == 0
        assert first.cache_write_tokens >= second.cached_tokens >= 1024
        assert second.cache_write_tokens > 1024

    @pytest.mark.parametrize(("model", "price"), [("gpt-6-sol", 1.25), ("gpt-5.5", 1.0)])
    async def test_writing_costs_more_since_it_is_counted(self, zero, gpt, model, price):
        messages = [{"role": "system", "content": GUIDE}, {"role": "user", "content": PROMPT}]
        client = gpt(zero)
        answers = [await client.chat.completions.create(model=model, messages=messages) for _ in range(2)]
        first, second = zero.requests
        kept = second.cache_read_tokens
        assert first.billed_input == pytest.approx(first.input_tokens - kept + kept * price)
        assert second.billed_input == pytest.approx(second.input_tokens - kept + kept * 0.1)
        counted = answers[0].usage.prompt_tokens_details.cache_write_tokens
        assert counted == (kept if price > 1 else 0)

    async def test_an_entry_lives_for_half_an_hour_from_its_last_use(self, zero, gpt):
        client = gpt(zero)
        await self.cached(client, GUIDE)
        zero.skip(1700)
        assert (await self.cached(client, GUIDE)).cached_tokens >= 1024
        zero.skip(1801)
        assert (await self.cached(client, GUIDE)).cached_tokens == 0

    @pytest.mark.parametrize(
        "change",
        [
            {"prompt_cache_key": "another"},
            {"reasoning_effort": "low"},
            {"service_tier": "priority"},
            {"verbosity": "low"},
            {"response_format": {"type": "json_object"}},
        ],
    )
    async def test_what_changes_the_model_s_input_loses_it(self, zero, gpt, change):
        client = gpt(zero)
        await self.cached(client, GUIDE)
        assert (await self.cached(client, GUIDE, **change)).cached_tokens == 0

    async def test_an_explicit_breakpoint_is_exact(self, zero, gpt):
        client = gpt(zero)
        part = {"type": "text", "text": GUIDE, "prompt_cache_breakpoint": {"mode": "explicit"}}
        explicit = {"extra_body": {"prompt_cache_options": {"mode": "explicit"}}}
        first = await self.cached(client, [part], **explicit)
        second = await self.cached(client, [part, {"type": "text", "text": "more"}], **explicit)
        assert first.cache_write_tokens == second.cached_tokens > 1024
        assert first.cache_write_tokens % 128 != 0

    async def test_explicit_without_breakpoints_is_no_caching(self, zero, gpt):
        client = gpt(zero)
        explicit = {"extra_body": {"prompt_cache_options": {"mode": "explicit"}}}
        for _ in range(2):
            seen = await self.cached(client, GUIDE, **explicit)
            assert (seen.cached_tokens, seen.cache_write_tokens) == (0, 0)

    async def test_too_many_requests_a_minute_under_one_key_spill_over(self, start, gpt):
        busy = await start(scenario_of("cache_requests_per_minute = 3"))
        client = gpt(busy)
        hits = [(await self.cached(client, GUIDE, prompt_cache_key="k")).cached_tokens > 0 for _ in range(7)]
        assert hits == [False, True, True, False, True, True, False]
        busy.skip(61)
        assert (await self.cached(client, GUIDE, prompt_cache_key="k")).cached_tokens > 0
        assert len(busy.requests) == 8
