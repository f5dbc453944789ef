"""One start of a server, and the connection that comes of it, as others see them."""

import anyio
from mcp import Client
from msgspec import Struct, field

from hub.connections.watch import Watch
from hub.core.errors import ServerError

SETTLE_LIMIT = 1.0
"""Seconds that calls over a session which the server forgot have to be refused."""


class Attempt(Struct):
    """From the first demand for a server to the end of the connection that came of it."""

    deadline: float
    """When those who wait give up, in the time of the event loop."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """The server is up, or it has failed to start."""
    error: ServerError | None = None
    """Why it failed."""
    finished: anyio.Event = field(default_factory=anyio.Event)
    """The connection that came of it has ended, too."""
    fault: BaseException | None = None
    """What ended it."""

    async def settled(self) -> bool:
        """Wait for the end of the start, at most to its deadline; say whether it has ended."""
        if not self.over.is_set():
            with anyio.move_on_after(max(self.deadline - anyio.current_time(), 0)):
                await self.over.wait()
        return self.over.is_set()

    def succeed(self) -> None:
        """The server is up."""
        self.over.set()

    def fail(self, error: ServerError) -> None:
        """The server is not up, and will not be."""
        if not self.over.is_set():
            self.error = error
            self.over.set()


class Connection(Struct, eq=False):
    """A live connection, as those who call through it hold it."""

    client: Client
    watch: Watch
    attempt: Attempt
    calls: int = 0
    """How many calls are under way."""
    _ending: anyio.Event = field(default_factory=anyio.Event)
    _quiet: anyio.Event = field(default_factory=anyio.Event)
    """Set when a connection that is let go has no call left."""

    def end(self) -> None:
        """Let it go."""
        self._ending.set()
        if not self.calls:
            self._quiet.set()

    async def hold(self) -> None:
        """Return when the process has ended or the connection is let go."""
        async with anyio.create_task_group() as group:

            async def leave_on(event: anyio.Event) -> None:
                await event.wait()
                group.cancel_scope.cancel()

            group.start_soon(leave_on, self.watch.closed)
            group.start_soon(leave_on, self._ending)

    async def settle(self) -> None:
        """Let the calls that are under way over a lost session learn of it by themselves."""
        if self._ending.is_set():
            with anyio.move_on_after(SETTLE_LIMIT):
                await self._quiet.wait()

    def done(self) -> None:
        """Count a call that is over."""
        self.calls -= 1
        if not self.calls and self._ending.is_set():
            self._quiet.set()
