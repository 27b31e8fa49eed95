"""How many output tokens an item takes, by language.

Decides what is expected before anything was seen, and learns from whole answers: tokenizers differ, and scripts
without a Latin alphabet take more tokens for the same. A decaying mean, kept within sane bounds. Knows no provider
and no clock.
"""

from __future__ import annotations

PRIOR_TOKENS = {"en": 90.0, "ko": 110.0, "ja": 110.0, "zh": 110.0}
OTHER_PRIOR_TOKENS = 120.0
LEAST_TOKENS = 30.0
MOST_TOKENS = 400.0
WEIGHT = 0.2
MOST_LANGUAGES = 64


class ItemLength:
    """Expected tokens per item. Languages beyond a bound, which no domain has, keep their prior."""

    def __init__(self) -> None:
        self._learned: dict[str, float] = {}

    def tokens(self, language: str) -> float:
        """What one item in that language is expected to take."""
        return self._learned.get(language) or PRIOR_TOKENS.get(language, OTHER_PRIOR_TOKENS)

    def saw(self, language: str, *, tokens: int, items: int) -> None:
        """Learns from a whole answer of ``items`` items, also from those that were dropped; 0 of either says
        nothing."""
        if not tokens or not items:
            return
        if language not in self._learned and len(self._learned) >= MOST_LANGUAGES:
            return
        seen = min(MOST_TOKENS, max(LEAST_TOKENS, tokens / items))
        before = self.tokens(language)
        self._learned[language] = before + WEIGHT * (seen - before)
