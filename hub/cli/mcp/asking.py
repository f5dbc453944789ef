"""The person at the terminal, for what servers ask in the middle of a call."""

import os

import anyio

from hub.cli.elicitation import TerminalElicitor
from hub.cli.mcp.progress import Progress
from hub.cli.views import LinesView
from hub.core.asking import Elicitation, Elicited


class Person:
    """The Elicitor port; without a terminal it answers at once that nobody is here."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._view = LinesView(quiet=True)
        self._inner: TerminalElicitor | None = None
        if os.isatty(0) and os.isatty(2):
            self._inner = TerminalElicitor(self._view, anyio.Lock())

    async def run(self) -> None:
        """Write what is asked, until cancelled."""
        await self._view.run()

    async def elicit(self, question: Elicitation) -> Elicited:
        """Take the line of progress away and put the question."""
        if self._inner is None:
            return Elicited("nobody")
        with self._progress.held():
            return await self._inner.elicit(question)
