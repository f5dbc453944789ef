"""How many jobs run at once: over one edge, in one tree, and in the whole process.

A job beyond a cap waits its turn and is told its place in the queue. An agent that does nothing
but wait for its children lends its own place to them, so that a deep tree cannot wait for itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.lowlevel import RunVar
from msgspec import Struct, field

IN_TREE = 256
"""Jobs of one tree that run at once, unless the settings say otherwise."""
IN_PROCESS = 1024
"""Jobs of all trees of a process that run at once."""


class Place(Struct, eq=False):
    """What one job holds of the caps while it runs."""

    limiters: tuple[anyio.CapacityLimiter, ...]
    held: bool = False
    lent: int = 0
    """How many waits for children have it lent at this moment."""

    async def take(self) -> None:
        """Wait for a place under every cap."""
        taken: list[anyio.CapacityLimiter] = []
        try:
            for limiter in self.limiters:
                await limiter.acquire_on_behalf_of(self)
                taken.append(limiter)
        except BaseException:
            for limiter in taken:
                limiter.release_on_behalf_of(self)
            raise
        self.held = True

    def give(self) -> None:
        """Leave the place, if it is held."""
        if self.held:
            self.held = False
            for limiter in self.limiters:
                limiter.release_on_behalf_of(self)

    @asynccontextmanager
    async def while_waiting(self) -> AsyncIterator[None]:
        """Lend the place to others in the body; it is taken back before the work goes on."""
        self.lent += 1
        if self.lent == 1:
            self.give()
        try:
            yield
        finally:
            self.lent -= 1
        if self.lent == 0 and not self.held:
            await self.take()


class Caps(Struct, eq=False):
    """The caps above those of single edges."""

    tree: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(IN_TREE))
    process: anyio.CapacityLimiter | None = None

    def place(self, edge: anyio.CapacityLimiter) -> Place:
        """Return a place, not yet taken, for a job over an edge."""
        above = (self.tree,) if self.process is None else (self.tree, self.process)
        return Place((edge, *above))

    def position(self, edge: anyio.CapacityLimiter) -> int:
        """Return how many would be before a job that came now; 0 when it would start at once."""
        above = [limiter for limiter in (self.tree, self.process) if limiter is not None]
        full = [limiter for limiter in (edge, *above) if limiter.available_tokens <= 0]
        return max((limiter.statistics().tasks_waiting + 1 for limiter in full), default=0)


_PROCESS: RunVar[anyio.CapacityLimiter] = RunVar("hub.dispatch.caps")


def in_process() -> anyio.CapacityLimiter:
    """Return the cap of the process, one for each event loop."""
    try:
        return _PROCESS.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(IN_PROCESS)
        _PROCESS.set(limiter)
        return limiter
