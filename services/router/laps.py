"""How long the parts of one classification took, for traces and metrics. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headway.deadline import Clock
from headway.ledger import Stage


class Laps:
    """Takes the times of one request; ``arrived`` is a reading of ``clock``. Laps may overlap."""

    def __init__(self, clock: Clock, arrived: float) -> None:
        self._clock = clock
        self._arrived = arrived
        self.stages: list[Stage] = []

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        """Times the block. One that fails leaves no lap: the failure of the call says it all."""
        began = self._clock()
        yield
        spent = self._clock() - began
        self.stages.append(Stage(name=name, spent=spent, started_after=began - self._arrived))
