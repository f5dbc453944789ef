"""The catalog of an open hub: what was offered stays until the turn is over, then news count."""

from collections.abc import Sequence

import anyio
from msgspec import Struct, field

from hub.app.mentions import resources_of
from hub.catalog.catalog import Catalog, rebuilt
from hub.catalog.resources import RESOURCES, ResourcesTool
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.offers import Offers
from hub.core.ports import Pins, ServerListing, Servers, Tool
from hub.core.servers import ServerSpec

WAIT = 1.0
"""Seconds that a new turn waits for the lists of servers that announced a change."""


class LiveCatalog(Struct):
    """The catalog as it is now, and which servers have changed since it was put together."""

    catalog: Catalog
    specs: Sequence[ServerSpec]
    servers: Servers
    offers: Offers
    pins: Pins | None = None
    stale: set[str] = field(default_factory=set)

    def heard(self, event: ev.Event) -> None:
        """Take in what happens to servers: a changed list, or one that is up after all."""
        if isinstance(event, ev.CatalogChanged):
            self.stale.add(event.server)
            self.catalog.take_back(event.server, event.removed)
        elif isinstance(event, ev.ServerConnected) and event.server in self.catalog.failed:
            self.stale.add(event.server)

    async def renew(self) -> bool:
        """Put the catalog together anew if a list has changed; say whether it was.

        A server that does not say its list in time stays as it was, until the next turn.
        """
        listings: dict[str, ServerListing] = {}

        async def ask(server: str) -> None:
            try:
                listings[server] = await self.servers.listing(server)
            except ServerError:
                self.stale.discard(server)

        if self.stale:
            with anyio.move_on_after(WAIT):
                async with anyio.create_task_group() as group:
                    for server in self.stale:
                        group.start_soon(ask, server)
        if not listings:
            return False
        self.stale -= listings.keys()
        self.catalog = rebuilt(
            self.catalog,
            self.specs,
            listings,
            servers=self.servers,
            pins=self.pins,
            offers=self.offers,
        )
        return True

    def tools(self) -> dict[str, Tool]:
        """Return all tools that roles may be offered, the hub's own over resources included."""
        tools: dict[str, Tool] = dict(self.catalog.tools)
        if self.catalog.resources:
            tools[RESOURCES] = ResourcesTool(resources_of(self.catalog), self.servers)
        return tools
