"""Follows the lists of a connected server: listens, lists anew, tells what changed."""

from collections.abc import Callable
from contextlib import suppress

import anyio
from mcp import Client, MCPError, types
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    SubscriptionLost,
    ToolsListChanged,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from hub.connections.listing import CHANGEABLE, Lister
from hub.connections.members import KINDS
from hub.core.ports import Clock, ServerListing

FIRST_PAUSE = 0.1
"""Seconds between an announcement and the listing, in which further ones join it."""
LONGEST_PAUSE = 30.0
"""What the pause grows to while announcements bring nothing new."""
READY_LIMIT = 1.0
"""Seconds that the list of tools waits for the stream of announcements."""

_NEWS = {
    ToolsListChanged: "tools",
    PromptsListChanged: "prompts",
    ResourcesListChanged: "resources",
    types.ToolListChangedNotification: "tools",
    types.PromptListChangedNotification: "prompts",
    types.ResourceListChangedNotification: "resources",
}
"""Which list an announcement is about, in the newer protocol and in the older ones."""


def streamed(client: Client) -> frozenset[str]:
    """Return the lists whose changes a server announces on a stream that has to be opened."""
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return frozenset()
    capabilities = client.server_capabilities
    return frozenset(kind.announced_as for kind in KINDS if kind.is_announced(capabilities))


class Changes:
    """The announcements of one connection."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._announced = anyio.Event()
        self._lists: set[str] = set()
        """Which lists were announced as changed and have not been read since."""
        self._listening = anyio.Event()

    def announce(self, *lists: str) -> None:
        """The server says that lists of its have changed."""
        self._lists.update(lists)
        self._announced.set()

    async def follow(
        self, lister: Lister, listing: ServerListing, changed: Callable[[ServerListing], None]
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
                lists = self._taken()
                with suppress(MCPError, ValueError):
                    now = await lister.read(lists)
                    if now != listing:
                        news = True
                        changed(now)
                    listing = now
                if not self._announced.is_set():
                    break
            else:
                self._taken()
            pause = FIRST_PAUSE if news else min(pause * 2, LONGEST_PAUSE)

    def _taken(self) -> frozenset[str]:
        """Return which lists were announced, and begin anew."""
        self._announced = anyio.Event()
        lists, self._lists = frozenset(self._lists), set()
        return lists

    async def listen(self, client: Client) -> None:
        """Hear announcements where the protocol has a stream for them; open it again when lost."""
        wanted = streamed(client)
        if not wanted:
            return
        pause = FIRST_PAUSE
        while True:
            with suppress(SubscriptionLost):
                try:
                    async with client.listen(
                        tools_list_changed="tools" in wanted,
                        prompts_list_changed="prompts" in wanted,
                        resources_list_changed="resources" in wanted,
                    ) as events:
                        self._listening.set()
                        async for event in events:
                            if (changed := _NEWS.get(type(event))) is not None:
                                pause = FIRST_PAUSE
                                self.announce(changed)
                except MCPError:
                    self._listening.set()
                    return
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self.announce(*CHANGEABLE)

    async def ready(self, client: Client) -> None:
        """Wait until announcements are heard, so that none falls between the list and them."""
        if streamed(client):
            with anyio.move_on_after(READY_LIMIT):
                await self._listening.wait()

    async def told(self, message: object) -> None:
        """Take a notification of the older protocol."""
        if (changed := _NEWS.get(type(message))) is not None:
            self.announce(changed)
