"""The catalog: every tool that an agent could see, under its model-facing name."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from hub.catalog.cache import ListingCache
from hub.catalog.explain import Explained, Profile
from hub.catalog.gathering import Patience, gather
from hub.catalog.items import Item, McpTool
from hub.catalog.offering import aliased, gated
from hub.catalog.shelf import Shelf, stocked
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.listings import listing_change
from hub.core.offers import Offers
from hub.core.ports import (
    Pins,
    Quarantine,
    RemotePrompt,
    RemoteResource,
    ServerListing,
    Servers,
)
from hub.core.servers import ServerSpec

_NO_OFFERS = Offers()
_NOTHING_HELD = Quarantine()


class Catalog(Struct):
    """What the servers offer, and what came of each of them."""

    tools: dict[str, McpTool] = field(default_factory=dict)
    """By model-facing name; in the order of the servers, then in each server's own."""
    problems: list[str] = field(default_factory=list)
    """What is wrong without being fatal, one line each."""
    cached: dict[str, int] = field(default_factory=dict)
    """Servers whose tools come from the cache, with their number; they have not been started."""
    connected: dict[str, int] = field(default_factory=dict)
    """Servers that were started for this catalog, with the number of their tools."""
    failed: dict[str, str] = field(default_factory=dict)
    """Servers that could not be listed, and why."""
    starting: list[str] = field(default_factory=list)
    """Servers that were not waited for; they join when they are up."""
    shelves: dict[str, Shelf] = field(default_factory=dict)
    """What each server brings in, by its name."""
    withheld: list[Item] = field(default_factory=list)
    """Every tool that is not offered, each with its reason."""
    contested: dict[str, Item] = field(default_factory=dict)
    """The first owner of each name that more than one tool would have; none has it."""
    prompts: dict[str, RemotePrompt] = field(default_factory=dict)
    """By ``server:prompt``."""
    resources: dict[str, tuple[RemoteResource, ...]] = field(default_factory=dict)
    """By server; only those that have some."""

    def add(
        self,
        spec: ServerSpec,
        listing: ServerListing,
        servers: Servers,
        quarantine: Quarantine = _NOTHING_HELD,
    ) -> int:
        """Take in what a server offers, less what its settings hide; return how many tools."""
        return self.take(stocked(spec, listing, quarantine), servers)

    def take(self, shelf: Shelf, servers: Servers) -> int:
        """Take in the shelf of a server; return how many of its tools are offered."""
        self.problems += shelf.problems
        self.shelves[shelf.spec.name] = shelf
        count, tools = 0, self.tools
        for item in shelf.items:
            if item.withheld:
                self.withheld.append(item)
                if "arguments are of type" in item.withheld:
                    self.problems.append(f"tool {item.name} is withheld: {item.withheld}")
            elif item.name in tools or item.name in self.contested:
                self._contest(item)
            else:
                tools[item.name] = McpTool(item, servers)
                count += 1
        self._take_more(shelf)
        return count

    def _contest(self, item: Item) -> None:
        """Withhold all tools of one name, so that none is taken for another."""
        if (tool := self.tools.pop(item.name, None)) is not None:
            self.contested[item.name] = tool.item
        other = self.contested[item.name]
        why = (
            f"its name {item.name} is that of {other.said.name!r} of {other.server.name!r} and of "
            f"{item.said.name!r} of {item.server.name!r}"
        )
        held = [replace(one, withheld=why) for one in ((other, item) if tool else (item,))]
        self.withheld += held
        self.problems += [
            f"tool {one.said.name!r} of {one.server.name!r} is withheld: {why}" for one in held
        ]

    def _take_more(self, shelf: Shelf) -> None:
        """Take in prompts and resources, less those that are held back."""
        server, held = shelf.spec.name, shelf.quarantine
        for prompt in shelf.listing.prompts:
            if prompt.name not in held.prompts:
                self.prompts[f"{server}:{prompt.name}"] = prompt
        found = tuple(one for one in shelf.listing.resources if one.uri not in held.resources)
        if found:
            self.resources[server] = found

    def settle(self, offers: Offers = _NO_OFFERS) -> None:
        """Close gates and put aliases in place, once every server has been taken in."""
        if not (offers.gates or offers.aliases):
            return
        doors = {tool.item.name: tool.servers for tool in self.tools.values()}
        items = [tool.item for tool in self.tools.values()]
        items, held = gated(items, offers, self.problems)
        self.withheld += held
        named = aliased(items, offers, self.problems, held)
        self.tools = {
            now.name: McpTool(now, doors[before.name])
            for before, now in zip(items, named, strict=True)
        }

    def names(self) -> list[str]:
        """Return every name by which rules may speak of an offered tool."""
        return [
            name
            for tool in self.tools.values()
            for name in (tool.item.name, *tool.item.other_names)
        ]

    def others(self) -> dict[str, tuple[str, ...]]:
        """Return the names that tools would have without renaming and aliases, if they differ."""
        items = (tool.item for tool in self.tools.values())
        return {item.name: item.other_names for item in items if item.other_names}

    def explain(self, name: str, profile: Profile = "generic") -> Explained | None:
        """Return all that is known of a tool; None when there is none of this name.

        It may be named as models see it, as it would be without renaming or alias, or as
        ``server/tool``.
        """
        found = next((item for item in self._items() if _goes_by(item, name)), None)
        return None if found is None else found.explained(profile)

    def explained(self, profile: Profile = "generic") -> list[Explained]:
        """Return all that is known of every tool, the offered ones first."""
        return [item.explained(profile) for item in self._items()]

    def take_back(self, server: str, tools: Iterable[str]) -> None:
        """Note that a server no longer offers some of its tools; calls of them say so."""
        gone = set(tools)
        for tool in self.tools.values():
            if tool.item.server.name == server and tool.item.said.name in gone:
                tool.item.gone = True

    def _items(self) -> list[Item]:
        return [*(tool.item for tool in self.tools.values()), *self.withheld]


def _goes_by(item: Item, name: str) -> bool:
    own = f"{item.server.name}/{item.said.name}"
    return name in (item.name, own, *item.other_names)


async def build_catalog(
    specs: Sequence[ServerSpec],
    *,
    servers: Servers,
    cache: ListingCache,
    pins: Pins | None = None,
    offers: Offers = _NO_OFFERS,
    patience: Patience | None = None,
) -> Catalog:
    """Put the catalog together, from the cache where it knows a server, else from the server.

    Servers that the cache does not know are started together; one that fails costs only itself
    and is named in ``failed``. With ``patience``, one that is late is named in ``starting``.
    """
    known = {spec.name: cache.load(spec) for spec in specs}
    alone = not any(known[spec.name] for spec in specs if spec.transport != "memory")
    asked = await gather(
        [name for name in known if known[name] is None], servers, patience, alone=alone
    )
    catalog = Catalog(failed=asked.failed, starting=asked.late)
    for spec in specs:
        fresh = asked.listings.get(spec.name)
        if fresh is not None:
            cache.save(spec, fresh)
        listing = known[spec.name] or fresh
        if listing is None:
            continue
        held = pins.check(spec, listing) if pins else _NOTHING_HELD
        state = catalog.cached if known[spec.name] else catalog.connected
        state[spec.name] = catalog.add(spec, listing, servers, held)
    catalog.settle(offers)
    return catalog


def rebuilt(
    catalog: Catalog,
    specs: Sequence[ServerSpec],
    listings: Mapping[str, ServerListing],
    *,
    servers: Servers,
    pins: Pins | None = None,
    offers: Offers = _NO_OFFERS,
) -> Catalog:
    """Return a catalog with newer listings of some servers; shelves of the others are kept.

    Servers keep their order, and those that were not in the catalog come last.
    """
    now = Catalog(
        cached=dict(catalog.cached),
        connected=dict(catalog.connected),
        failed={name: why for name, why in catalog.failed.items() if name not in listings},
        starting=[name for name in catalog.starting if name not in listings],
    )
    by_name = {spec.name: spec for spec in specs}
    for name in dict.fromkeys((*catalog.shelves, *by_name)):
        spec, shelf = by_name[name], catalog.shelves.get(name)
        if (listing := listings.get(name)) is not None:
            held = pins.check(spec, listing) if pins else _NOTHING_HELD
            shelf = stocked(spec, listing, held)
        if shelf is not None:
            count = now.take(shelf, servers)
            if name in listings:
                now.cached.pop(name, None)
                now.connected[name] = count
    now.settle(offers)
    return now


async def refresh_cache(
    specs: Sequence[ServerSpec],
    *,
    servers: Servers,
    cache: ListingCache,
    emit: Callable[[ev.Event], None],
) -> None:
    """Compare each cached listing with what its server says now; keep and tell what changed."""

    async def compare(spec: ServerSpec) -> None:
        before = cache.load(spec)
        try:
            now = await servers.listing(spec.name)
        except ServerError:
            return
        if before is None or before != now:
            cache.save(spec, now)
        if before is not None and (change := listing_change(before, now)) is not None:
            emit(change)

    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(compare, spec)
