"""The catalog of an open hub: what was offered stays until the turn is over, then news count.

Only what is new can come in between: a server that was late joins as soon as it is up.
"""

from collections.abc import Sequence

import anyio
from msgspec import Struct, field

from hub.app.mentions import resources_of
from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog, rebuilt
from hub.catalog.gathering import gather
from hub.catalog.resources import RESOURCES, ResourcesTool
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.listings import listing_change
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
    cache: ListingCache = field(default_factory=lambda: ListingCache(None))
    stale: set[str] = field(default_factory=set)
    """Servers that are in the catalog, and have announced another list."""
    arrived: dict[str, bool] = field(default_factory=dict)
    """Servers that came up late and are to join, and whether that was told already."""
    _arrival: anyio.Event = field(default_factory=anyio.Event)

    def heard(self, event: ev.Event) -> None:
        """Take in what happens to servers: a changed list, or one that is up after all."""
        match event:
            case ev.CatalogChanged() if event.server in self.catalog.shelves:
                self.stale.add(event.server)
                self.catalog.take_back(event.server, event.removed)
            case ev.CatalogChanged() | ev.ServerConnected():
                if event.server not in self.catalog.shelves:
                    told = isinstance(event, ev.CatalogChanged)
                    self.arrived[event.server] = self.arrived.get(event.server, told) or told
                    self._arrival.set()
            case ev.ServerFailed() if event.server in self.catalog.starting:
                self.catalog.starting.remove(event.server)
                self.catalog.failed[event.server] = event.error
            case _:
                pass

    async def arrival(self) -> None:
        """Wait until a server that was late is up."""
        await self._arrival.wait()

    async def join(self) -> list[ev.CatalogChanged]:
        """Put what has arrived at the end of the catalog; return what was not told of it yet."""
        self._arrival = anyio.Event()
        arrived, self.arrived = self.arrived, {}
        new = [name for name in arrived if name not in self.catalog.shelves]
        found = await gather(new, self.servers)
        self._take(found.listings)
        nothing = (ServerListing(one.server, one.protocol) for one in found.listings.values())
        changes = map(listing_change, nothing, found.listings.values())
        return [one for one in changes if one is not None and not arrived[one.server]]

    async def wait_for_all(self) -> None:
        """Wait for every server that is late, to its own limit."""
        found = await gather(self.catalog.starting, self.servers)
        self.catalog.failed |= found.failed
        self.catalog.starting = []
        self._take(found.listings)

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
        self._take(listings, keep=False)
        return True

    def _take(self, listings: dict[str, ServerListing], *, keep: bool = True) -> None:
        """Take listings in; keep them for the next run as well."""
        if not listings:
            return
        for spec in self.specs if keep else ():
            if spec.name in listings:
                self.cache.save(spec, listings[spec.name])
        self.catalog = rebuilt(
            self.catalog,
            self.specs,
            listings,
            servers=self.servers,
            pins=self.pins,
            offers=self.offers,
        )

    def tools(self) -> dict[str, Tool]:
        """Return all tools that roles may be offered, the hub's own over resources included."""
        tools: dict[str, Tool] = dict(self.catalog.tools)
        if self.catalog.resources:
            tools[RESOURCES] = ResourcesTool(resources_of(self.catalog), self.servers)
        return tools
