"""One start of a server, and the connection that comes of it, as others see them."""

from typing import Literal

import anyio
from mcp import Client
from msgspec import Struct, field

from hub.connections.asking import Asking
from hub.connections.watch import Watch
from hub.core.errors import ServerError
from hub.core.ports import Clock
from hub.core.servers import ServerSpec

Purpose = Literal["", "idle", "restart"]
"""Why we ended a connection ourselves; empty when we did not."""

SETTLE_LIMIT = 1.0
"""Seconds that calls over a session which the server forgot have to be refused."""
PATIENCE = 1.0
"""Seconds that the start of a server is waited for that never came up the last time."""
WARM_FACTOR, WARM_LIMIT = 10, 600.0
"""A slow start may take so many times its limit, and at most so many seconds."""


class Attempt(Struct):
    """From the first demand for a server to the end of the connection that came of it."""

    patience: float
    """Seconds that those who wait have."""
    deadline: float
    """When those who wait give up, in the time of the event loop."""
    limit: float
    """When the server is given up."""
    begun: float
    """When the start began, on the clock's monotonic time."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """Cancelled to end a start that is under way."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """The server is up, or it has failed to start."""
    error: ServerError | None = None
    """Why it failed."""
    finished: anyio.Event = field(default_factory=anyio.Event)
    """The connection that came of it has ended, too."""
    fault: BaseException | None = None
    """What ended it."""
    purpose: Purpose = ""
    leaving: bool = False
    """We end it together with the way to the server."""
    late: bool = False
    """Those who waited were told that it takes too long."""
    assumed: bool = False
    """The server was greeted in the older protocol without having been asked."""
    up_since: float | None = None
    """When it came up, on the clock's monotonic time."""

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


def begin(spec: ServerSpec, clock: Clock, *, mute: bool) -> Attempt:
    """Return a start that begins now; that of a server which was mute is not waited for long."""
    now, limit = anyio.current_time(), spec.start_timeout
    patience = min(limit, PATIENCE) if mute else limit
    return Attempt(
        patience=patience,
        deadline=now + patience,
        limit=now + max(limit, min(limit * WARM_FACTOR, WARM_LIMIT)),
        begun=clock.monotonic(),
    )


class Connection(Struct, eq=False):
    """A live connection, as those who call through it hold it."""

    client: Client
    watch: Watch
    attempt: Attempt
    clock: Clock
    used: float
    """When the last call ended, on the clock's monotonic time."""
    asking: Asking
    """What the server asks while it is up."""
    calls: int = 0
    """How many calls are under way."""
    served: int = 0
    """How many calls have ended."""
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

    async def quiet_for(self, seconds: float) -> None:
        """Return when no call has been under way for so long."""
        while True:
            now = self.clock.monotonic()
            left = seconds if self.calls else self.used + seconds - now
            if left <= 0:
                return
            await self.clock.sleep(left)

    def done(self) -> None:
        """Count a call that is over."""
        self.calls -= 1
        self.served += 1
        self.used = self.clock.monotonic()
        if not self.calls and self._ending.is_set():
            self._quiet.set()
