"""One start of a server, as all who wait for it see it."""

from dataclasses import dataclass, field

import anyio

from hub.core.errors import ServerError


@dataclass(slots=True)
class Attempt:
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
