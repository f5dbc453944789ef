"""The live tree on a terminal: redrawn at most ten times a second, however many events come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import time

import anyio
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from hub.cli.agents import RunAgents
from hub.cli.picture import picture
from hub.core.events import AnyEvent
from hub.core.text import printable

TICK = 0.1
"""Seconds between two drawings."""
IDLE_TICKS = 5
"""When nothing happens, every so many ticks are drawn, for the clocks."""
FINAL_LINES = 200
"""Lines of the tree that is left on the screen."""


class LiveView:
    """Draws the agents of a run over themselves until they are done, then once for good.

    A terminal that goes away ends the drawing and nothing else.
    """

    def __init__(self, console: Console | None = None, now: Callable[[], float] = time) -> None:
        self._console = console or Console(stderr=True)
        self._now = now
        self._agents = RunAgents()
        self._live: Live | None = None
        self._asides = 0
        self._over = False

    def show(self, event: AnyEvent) -> None:
        """Take an event into account; the next tick draws it."""
        self._agents.apply(event)

    def say(self, text: str) -> None:
        """Print a message above the tree."""
        with self._terminal():
            self._console.print(Text(printable(text)))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the tree off the screen while somebody else writes there."""
        self._asides += 1
        self._take_away()
        try:
            yield
        finally:
            self._asides -= 1

    async def run(self) -> None:
        """Draw until cancelled."""
        ticks = 0
        while True:
            ticks += 1
            if self._agents.changed or ticks % IDLE_TICKS == 0:
                self._draw()
            await anyio.sleep(TICK)

    def finish(self) -> None:
        """Replace the moving tree by a last one that stays."""
        if self._over:
            return
        self._take_away()
        self._over = True
        if self._agents.rows:
            with self._terminal():
                self._console.print(self._picture(FINAL_LINES))

    async def drained(self) -> None:
        """Wait for nothing: a terminal has taken what was written."""

    def _draw(self) -> None:
        if self._asides or self._over or not self._agents.rows:
            return
        self._agents.changed = False
        with self._terminal():
            drawing = self._picture(self._console.size.height)
            if self._live is None:
                self._live = self._started(drawing)
            else:
                self._live.update(drawing, refresh=True)

    def _started(self, drawing: Group) -> Live:
        live = Live(
            drawing,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        live.start(refresh=True)
        return live

    def _take_away(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            with self._terminal():
                live.stop()

    @contextmanager
    def _terminal(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._over, self._live = True, None

    def _picture(self, height: int) -> Group:
        width = self._console.size.width
        return Group(*picture(self._agents, self._now(), width=width, height=height))
