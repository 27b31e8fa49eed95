"""Notices when a prefix stops being read from a provider's prompt cache.

Decides when a run of cold reads is a loss: once a prefix has been in the cache, so many answers in a row that read
nothing from it although it should still be there. A loss is told once, and is over with the next hit. Knows no
provider's rules for caching; whether a hit could be expected is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from headway.ledger import Usage

COLD_READS = 3
"""One may be an entry that the provider let go, two a coincidence."""

Key = tuple[str, str]
log = structlog.get_logger()


class PromptCacheWatch:
    """Counts cold reads by backend and model. ``report`` is told both at each loss, and may be replaced."""

    def __init__(self, report: Callable[[str, str], None] = lambda _backend, _model: None) -> None:
        self.report = report
        self._cold: dict[Key, int] = {}

    def saw(self, backend: str, model: str, usage: Usage, *, expected: bool) -> None:
        """An answer whose usage the provider told. ``expected``: the prefix should have been in the cache."""
        key = (backend, model)
        if usage.cache_read_tokens:
            if self._cold.pop(key, 0) >= COLD_READS:
                log.info("prompt cache hits again", backend=backend, model=model)
            return
        if not expected or not usage.input_tokens:
            return
        self._cold[key] = self._cold.get(key, 0) + 1
        if self._cold[key] == COLD_READS:
            log.warning("prompt cache lost", backend=backend, model=model, cold_reads=COLD_READS)
            self.report(backend, model)
