"""A prefix that is no longer read from a provider's cache is told once."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from headway.ledger import Usage
from headway.metrics import Metrics
from services.generator.prompt_cache import COLD_READS, PromptCacheWatch

COLD = Usage(input_tokens=2000, cache_write_tokens=1800)
HIT = Usage(input_tokens=2000, cache_read_tokens=1800)


def watch() -> tuple[PromptCacheWatch, list[tuple[str, str]]]:
    losses: list[tuple[str, str]] = []
    return PromptCacheWatch(lambda backend, model: losses.append((backend, model))), losses


def test_cold_reads_in_a_row_are_one_loss() -> None:
    seeing, losses = watch()
    with capture_logs() as logs:
        for _ in range(3 * COLD_READS):
            seeing.saw("anthropic", "m", COLD, expected=True)
    assert losses == [("anthropic", "m")]
    assert [entry["event"] for entry in logs] == ["prompt cache lost"]


def test_after_a_hit_the_next_loss_is_told_again() -> None:
    seeing, losses = watch()
    with capture_logs() as logs:
        for usage in [COLD] * COLD_READS + [HIT] + [COLD] * COLD_READS:
            seeing.saw("anthropic", "m", usage, expected=True)
    assert len(losses) == 2
    assert [entry["event"] for entry in logs] == ["prompt cache lost", "prompt cache hits again", "prompt cache lost"]


@pytest.mark.parametrize(
    "usages",
    [[COLD] * (COLD_READS - 1), [COLD, COLD, HIT] * 3, [HIT] * 9, [Usage()] * 9],
    ids=["too few", "hits between", "hits", "no usage"],
)
def test_anything_less_is_no_loss(usages: list[Usage]) -> None:
    seeing, losses = watch()
    with capture_logs() as logs:
        for usage in usages:
            seeing.saw("anthropic", "m", usage, expected=True)
    assert (losses, logs) == ([], [])


def test_a_prefix_that_could_not_be_there_is_not_missed() -> None:
    seeing, losses = watch()
    for _ in range(2 * COLD_READS):
        seeing.saw("anthropic", "m", COLD, expected=False)
    assert losses == []


def test_models_are_counted_apart() -> None:
    seeing, losses = watch()
    for number in range(2 * COLD_READS - 2):
        seeing.saw("anthropic", f"m{number % 2}", COLD, expected=True)
    assert losses == []


def test_losses_are_counted_by_known_models_only() -> None:
    metrics = Metrics()
    metrics.know_models({"m"})
    for model in ("m", "m", "invented"):
        metrics.prompt_cache_lost("anthropic", model)
    count = metrics.registry.get_sample_value
    name = "headway_prompt_cache_losses_total"
    assert count(name, {"backend": "anthropic", "model": "m"}) == 2
    assert count(name, {"backend": "anthropic", "model": "other"}) == 1
