"""The catalog of a workspace as it is known without starting a server."""

import sys
from difflib import get_close_matches

from hub.app.inspect import lazy_servers
from hub.app.mcp.looks import Look, View
from hub.catalog.catalog import Catalog
from hub.catalog.items import Item, McpTool
from hub.config.offers import offers
from hub.core.errors import UsageError


class Known:
    """The catalog, with the tools that are withheld, and names as a user may type them."""

    def __init__(self, view: View, catalog: Catalog | None = None) -> None:
        """Take a catalog, or make one of what servers listed the last time."""
        setup = view.setup
        self.view = view
        self._nobody = lazy_servers(setup, ())
        self.catalog = catalog or self._remembered()
        """Everything that is known; what is not offered is in ``withheld``."""

    def _remembered(self) -> Catalog:
        catalog, setup = Catalog(), self.view.setup
        for look in self.view.looks:
            if look.listing is not None:
                catalog.add(look.spec, look.listing, self._nobody, look.pinned.quarantine)
        catalog.settle(offers(setup.loaded, setup.workspace, sys.platform))
        return catalog

    def items(self) -> list[Item]:
        """Return every tool, the offered ones first."""
        return [*(tool.item for tool in self.catalog.tools.values()), *self.catalog.withheld]

    def tool(self, item: Item) -> McpTool:
        """Return a tool as it is, or would be, offered; it cannot be called."""
        return self.catalog.tools.get(item.name) or McpTool(item, self._nobody)

    def find(self, name: str) -> Item:
        """Return a tool by the name that models see, by another name of it, or ``server/tool``.

        Raises:
            UsageError: there is none, or its server was never listed.
        """
        items = self.items()
        for item in items:
            if name in names_of(item):
                return item
        server, slash, _ = name.partition("/")
        if slash and server not in self.catalog.shelves:
            raise never_listed(self.view.find(server))
        near = get_close_matches(name, [one for item in items for one in names_of(item)], n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        command = f"hub mcp tools {server}" if slash else "hub mcp tools"
        raise UsageError(
            f"no known tool is called {name!r}", remedy=f"{hint}{command} shows them all."
        )


def names_of(item: Item) -> tuple[str, ...]:
    """Return every name by which a user may mean a tool."""
    return (item.name, f"{item.server.name}/{item.said.name}", *item.other_names)


def never_listed(look: Look) -> UsageError:
    """Return the error for a server of which no tool is known."""
    name, where = look.spec.name, f"{look.spec.origin} (servers.{look.spec.name})"
    if look.standing is None:
        return UsageError(
            f"the MCP server {name!r} is switched off",
            where=where,
            remedy="Switch it on with enabled: true in its entry.",
        )
    if not look.standing.approved:
        return UsageError(
            f"the MCP server {name!r} is not approved, so its tools are not known",
            where=where,
            remedy=f"Look at it with hub mcp status {name}, then run: hub mcp approve {name}",
        )
    return UsageError(
        f"the MCP server {name!r} was never asked for its tools",
        where=where,
        remedy=f"Ask it with: hub mcp tools {name} --refresh",
    )
