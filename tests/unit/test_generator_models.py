"""The catalogue of models: what it holds, what a call costs, and what is wrong with one that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.budget import Tier
from headway.ledger import Usage
from headway.settings import read
from services.generator import models
from services.generator.config import GeneratorConfig
from services.generator.furnishing import chosen
from services.generator.item_length import LEAST_TOKENS, MOST_LANGUAGES, MOST_TOKENS, ItemLength
from services.generator.models import CatalogueError, Prices

CATALOGUE = models.load(models.BUILT_IN)


def test_the_models_named_by_default_are_in_the_built_in_catalogue() -> None:
    config = read(GeneratorConfig, {})
    listed = {(model.provider, model.name, model.tier) for model in CATALOGUE.models}
    assert {
        ("anthropic", config.anthropic_large, Tier.LARGE),
        ("anthropic", config.anthropic_small, Tier.SMALL),
        ("openai", config.openai_large, Tier.LARGE),
        ("openai", config.openai_small, Tier.SMALL),
    } <= listed


def test_a_cached_prefix_is_expected_to_be_faster_and_a_small_model_too() -> None:
    for model in CATALOGUE.models:
        assert model.cached_pace.ttft_p50 < model.pace.ttft_p50
    large, small = CATALOGUE.paces[Tier.LARGE][0], CATALOGUE.paces[Tier.SMALL][0]
    assert (small.ttft_p50, small.tpot_p50) < (large.ttft_p50, large.tpot_p50)


def test_a_model_that_is_not_listed_is_treated_as_any_other_of_its_provider() -> None:
    model = CATALOGUE.model("openai", "my-finetune", Tier.LARGE)
    assert (model.name, model.tier, model.structured_output) == ("my-finetune", Tier.LARGE, False)
    assert model.pace == CATALOGUE.paces[Tier.LARGE][0]


def test_cost_counts_each_kind_of_token_once() -> None:
    prices = Prices(input=1.0, output=10.0, cache_read=0.1, cache_write=2.0)
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=600_000, cache_write_tokens=100_000)
    assert prices.cost(usage) == pytest.approx(0.3 + 1.0 + 0.06 + 0.2)


TIER = "ttft_p50=1\nttft_p95=2\ncached_ttft_p50=1\ncached_ttft_p95=1\ntpot_p50=1\n"
TIERS = f"[tiers.small]\n{TIER}[tiers.large]\n{TIER}"
MODEL = '[[model]]\nprovider="p"\nname="m"\ntier="small"\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "'tiers' is missing"),
        ("x = ", "cannot be read"),
        (f"[tiers.small]\n{TIER}{MODEL}", r"no \[tiers.large\]"),
        (TIERS, "'model' is missing"),
        (TIERS + MODEL.replace("small", "huge"), "'huge' is missing or not known"),
        (TIERS + MODEL + "colour = 1\n", "'colour'"),
        (TIERS + MODEL + "prices = { input = -1 }\n", "zero or more"),
        (TIERS + MODEL + "prices = { gold = 1 }\n", "gold"),
        (TIERS.replace("tpot_p50=1", "tpot_p50=0") + MODEL, "above zero"),
    ],
)
def test_a_catalogue_that_cannot_be_used_says_what_is_wrong(tmp_path: Path, text: str, fault: str) -> None:
    file = tmp_path / "models.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError, match=fault):
        models.load(file)


def test_a_missing_catalogue_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"nothing\.toml"):
        models.load(tmp_path / "nothing.toml")


def endpoints(**environment: str) -> list[tuple[str, str, list[str]]]:
    config = read(GeneratorConfig, environment)
    return [(each.provider, each.key, [model.name for model in each.models]) for each in chosen(config, CATALOGUE)]


def test_only_providers_with_a_key_take_part() -> None:
    assert endpoints() == []
    assert [each[0] for each in endpoints(OPENAI_API_KEY="k")] == ["openai"]


def test_the_product_s_own_key_comes_before_the_usual_one() -> None:
    assert endpoints(ANTHROPIC_API_KEY="usual", HEADWAY_ANTHROPIC_API_KEY="own")[0][1] == "own"


def test_the_preferred_provider_is_asked_first() -> None:
    both = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}
    assert [each[0] for each in endpoints(**both)] == ["anthropic", "openai"]
    assert [each[0] for each in endpoints(**both, HEADWAY_PREFERRED_PROVIDER="openai")] == ["openai", "anthropic"]


def test_a_tier_can_be_left_out() -> None:
    environment = {"OPENAI_API_KEY": "k", "HEADWAY_OPENAI_LARGE_MODEL": "-", "HEADWAY_OPENAI_SMALL_MODEL": "local"}
    assert endpoints(**environment) == [("openai", "k", ["local"])]


def test_keys_are_no_part_of_what_is_shown() -> None:
    assert "secret-key" not in repr(read(GeneratorConfig, {"ANTHROPIC_API_KEY": "secret-key"}))


def test_the_length_of_items_is_learned_from_whole_answers() -> None:
    length = ItemLength()
    before = length.tokens("ko")
    for _ in range(50):
        length.saw("ko", tokens=210, items=3)
    assert abs(length.tokens("ko") - 70) < 1 < abs(before - 70)
    assert length.tokens("en") == ItemLength().tokens("en")


def test_what_was_learned_stays_within_bounds() -> None:
    length = ItemLength()
    length.saw("ko", tokens=0, items=3)
    length.saw("ko", tokens=100, items=0)
    assert length.tokens("ko") == ItemLength().tokens("ko")
    for _ in range(100):
        length.saw("ko", tokens=1, items=1)
        length.saw("en", tokens=10**9, items=1)
    assert length.tokens("ko") >= LEAST_TOKENS
    assert length.tokens("en") <= MOST_TOKENS
    for number in range(2 * MOST_LANGUAGES):
        length.saw(f"x{number}", tokens=300, items=1)
    assert length.tokens(f"x{2 * MOST_LANGUAGES - 1}") == length.tokens("never-seen")
