"""``headway top`` on a terminal: a picture that is drawn again after each look.

Decides keys and when to look. What is looked at, and what the picture says, are decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import Footer, Static

from headway.cli.top_metrics import Values
from headway.cli.top_text import lines
from headway.cli.top_view import Watch
from headway.deadline import Clock

INTERVALS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
WINDOWS = (10.0, 30.0, 60.0, 300.0)
Look = Callable[[], Awaitable[Mapping[str, Values | str]]]


class TopApp(App[None]):
    """Shows what ``look`` sees, every ``interval`` seconds."""

    TITLE = "headway top"
    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { overflow: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "quit", "quit"),
        ("p", "pause", "pause"),
        ("plus", "pace(-1)", "look more often"),
        ("minus", "pace(1)", "less often"),
        ("w", "window", "other span"),
    ]

    def __init__(self, look: Look, watch: Watch, *, interval: float, clock: Clock) -> None:
        super().__init__()
        self._look = look
        self._watch = watch
        self._interval = interval
        self._window = WINDOWS[1]
        self._clock_reading = clock
        self._paused = False
        self._wake = asyncio.Event()
        self._picture = Static(id="picture")

    def compose(self) -> ComposeResult:
        yield self._picture
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.run_worker(self._keep_looking(), name="looks")

    def on_resize(self, _event: events.Resize) -> None:
        self._draw()

    def action_pause(self) -> None:
        """Stops looking, or goes on."""
        self._paused = not self._paused
        self._wake.set()
        self._draw()

    def action_pace(self, step: int) -> None:
        """Looks more often or less often."""
        nearest = min(range(len(INTERVALS)), key=lambda index: abs(INTERVALS[index] - self._interval))
        self._interval = INTERVALS[min(len(INTERVALS) - 1, max(0, nearest + step))]
        self._wake.set()
        self._draw()

    def action_window(self) -> None:
        """Takes the next span that counts are over."""
        self._window = WINDOWS[(WINDOWS.index(self._window) + 1) % len(WINDOWS)]
        self._draw()

    async def _keep_looking(self) -> None:
        while True:
            if not self._paused:
                found = await self._look()
                self._watch.look(self._clock_reading(), found)
                self._draw()
            self._wake.clear()
            try:
                async with asyncio.timeout(self._interval):
                    await self._wake.wait()
            except TimeoutError:
                pass

    def _draw(self) -> None:
        if not self._picture.is_attached:
            return  # a look that came back while the screen was being taken down
        title = "headway top" + (" (paused)" if self._paused else "") + f"   a look every {self._interval:g} s"
        # The footer takes the last row.
        rows = max(1, self.size.height - 1)
        picture = lines(self._watch.view(self._window), title, columns=self.size.width, rows=rows)
        self._picture.update(_one(picture))


def _one(picture: list[Text]) -> Text:
    text = Text("\n").join(picture)
    text.no_wrap, text.overflow = True, "crop"
    return text
