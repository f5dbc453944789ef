"""Follows the list of tools of a connected server: listens, lists anew, tells what changed."""

from collections.abc import Callable
from contextlib import suppress

import anyio
from mcp import Client, MCPError, types
from mcp.client.subscriptions import SubscriptionLost, ToolsListChanged
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from hub.connections.listing import list_server
from hub.core.ports import Clock, ServerListing

FIRST_PAUSE = 0.1
"""Seconds between an announcement and the listing, in which further ones join it."""
LONGEST_PAUSE = 30.0
"""What the pause grows to while announcements bring nothing new."""
READY_LIMIT = 1.0
"""Seconds that the list of tools waits for the stream of announcements."""


def has_stream(client: Client) -> bool:
    """Say whether a server announces changes on a stream that has to be opened."""
    tools = client.server_capabilities.tools
    modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
    return modern and tools is not None and bool(tools.list_changed)


class Changes:
    """The announcements of one connection."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._announced = anyio.Event()
        self._listening = anyio.Event()

    def announce(self) -> None:
        """The server says that its list of tools has changed."""
        self._announced.set()

    async def follow(
        self, client: Client, listing: ServerListing, changed: Callable[[ServerListing], None]
    ) -> None:
        """List anew after announcements: one listing for a storm, fewer when nothing is new.

        What is announced while the list is being read may have come too late for it, so it is
        read once more; what is announced during that too is the listing's own doing.
        """
        pause = FIRST_PAUSE
        while True:
            await self._announced.wait()
            await self._clock.sleep(pause)
            news = False
            for _ in range(2):
                self._announced = anyio.Event()
                with suppress(MCPError, ValueError):
                    now = await list_server(client, listing.server)
                    if now.tools != listing.tools:
                        news = True
                        changed(now)
                    listing = now
                if not self._announced.is_set():
                    break
            else:
                self._announced = anyio.Event()
            pause = FIRST_PAUSE if news else min(pause * 2, LONGEST_PAUSE)

    async def listen(self, client: Client) -> None:
        """Hear announcements where the protocol has a stream for them; open it again when lost."""
        if not has_stream(client):
            return
        pause = FIRST_PAUSE
        while True:
            with suppress(SubscriptionLost):
                try:
                    async with client.listen(tools_list_changed=True) as events:
                        self._listening.set()
                        async for event in events:
                            if isinstance(event, ToolsListChanged):
                                pause = FIRST_PAUSE
                                self.announce()
                except MCPError:
                    self._listening.set()
                    return
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self.announce()

    async def ready(self, client: Client) -> None:
        """Wait until announcements are heard, so that none falls between the list and them."""
        if has_stream(client):
            with anyio.move_on_after(READY_LIMIT):
                await self._listening.wait()

    async def told(self, message: object) -> None:
        """Take a notification of the older protocol."""
        if isinstance(message, types.ToolListChangedNotification):
            self.announce()
