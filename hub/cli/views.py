"""What a watched run shows on stderr: a live tree, plain lines, or only what must be said."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Protocol, cast

import anyio

from hub.cli.lines import RunLines
from hub.cli.outlet import Outlet
from hub.core.events import AnyEvent
from hub.core.text import printable

LAST_SECONDS = 1.0
"""How long a reader of stderr may take for the last lines."""


class View(Protocol):
    """Shows a run to whoever started it."""

    def show(self, event: AnyEvent) -> None:
        """Take an event into account; cheap, never blocks."""
        ...

    def say(self, text: str) -> None:
        """Print a message of the command itself; it stays on the screen."""
        ...

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to a question while the context is open."""
        ...

    async def run(self) -> None:
        """Keep what is shown up to date until cancelled."""
        ...

    def finish(self) -> None:
        """Leave the last state on the screen; after it, nothing but ``say`` prints."""
        ...

    async def drained(self) -> None:
        """Wait a moment for a slow reader to take the last lines."""
        ...


class LinesView:
    """Plain lines, one for each notable event; none for events when ``quiet``.

    Lines wait for a slow reader; when far too many do, newer ones are left out and counted.
    """

    def __init__(self, descriptor: int = 2, *, quiet: bool = False) -> None:
        self._outlet = Outlet(descriptor)
        self._lines = None if quiet else RunLines()
        self._left_out = 0

    def show(self, event: AnyEvent) -> None:
        """Queue the line of an event, if it has one."""
        line = self._lines.line(event) if self._lines is not None else None
        if line is not None:
            self._put(line)

    def say(self, text: str) -> None:
        """Queue a message."""
        self._put(printable(text))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Change nothing: lines disturb nobody."""
        yield

    async def run(self) -> None:
        """Write the lines as fast as they are read."""
        await self._outlet.pump()

    def finish(self) -> None:
        """Change nothing: the last line is the last state."""

    async def drained(self) -> None:
        """Wait a moment for the reader to take the last lines."""
        with anyio.move_on_after(LAST_SECONDS, shield=True):
            await self._outlet.drained()

    def _put(self, line: str) -> None:
        if self._outlet.full:
            self._left_out += 1
            return
        if self._left_out:
            self._outlet.put(f"[{self._left_out} lines left out, the reader was too slow]\n")
            self._left_out = 0
        self._outlet.put(line + "\n")


def view_on_stderr(*, quiet: bool = False, json_on_terminal: bool = False) -> View:
    """Choose the view: a tree on a terminal that can move its cursor, lines elsewhere.

    A terminal that shows a stream of JSON already needs no second account of the run.
    """
    movable = os.isatty(2) and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}
    if quiet or json_on_terminal or not movable:
        return LinesView(quiet=quiet or json_on_terminal)
    # rich takes 25 ms to import, which a run that nobody watches need not pay.
    return cast(View, import_module("hub.cli.live").LiveView())
