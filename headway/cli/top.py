"""``headway top``: what a mesh does right now, by the metrics of its services.

Decides between the picture that goes on and the one that is printed once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.console import Console

from headway.cli.failures import OK, UNREACHABLE
from headway.cli.top_fetch import looking
from headway.cli.top_text import LEAST_COLUMNS, lines
from headway.cli.top_view import Watch
from headway.deadline import Clock


async def once(at: Mapping[str, str], to: Console, *, clock: Clock = time.monotonic) -> int:
    """Prints one look at everything since the services started. The exit code: UNREACHABLE when none answers."""
    watch = Watch(list(at))
    async with looking(at) as looker:
        watch.look(clock(), await looker.look())
    view = watch.view(None)
    for line in lines(view, "headway top", columns=max(LEAST_COLUMNS, to.width)):
        line.rstrip()
        to.print(line, no_wrap=True, overflow="ignore", crop=False)
    if view.reached:
        return OK
    to.print("No service answers. Start a mesh with `headway up`, or say with --metrics where the services are.")
    return UNREACHABLE


async def live(at: Mapping[str, str], *, interval: float, clock: Clock = time.monotonic) -> int:
    """Shows the picture until ``q`` is pressed."""
    from headway.cli.top_app import TopApp  # takes a third of a second to import

    async with looking(at) as looker:
        await TopApp(looker.look, Watch(list(at)), interval=interval, clock=clock).run_async()
    return OK
