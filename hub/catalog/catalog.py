"""The catalog: every tool that an agent could see, under its model-facing name."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
from msgspec import Struct, field

from hub.catalog.cache import ListingCache
from hub.catalog.names import model_name
from hub.catalog.schemas import BROKEN, Untranslatable, lowered
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.listings import listing_change
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext, RemoteTool, ServerListing, Servers
from hub.core.servers import ServerSpec
from hub.core.team import matches_any


class McpTool:
    """The Tool port over a tool of an MCP server."""

    def __init__(self, spec: ToolSpec, schema: dict[str, Any], servers: Servers) -> None:
        self.spec = spec
        """How it is offered."""
        self.validation_schema = schema
        """What its arguments are checked against: the server's own schema, unless it is broken."""
        self._servers = servers

    async def call(self, arguments: dict[str, Any], context: CallContext) -> ToolOutcome:
        """Call the tool at its server."""
        return await self._servers.call(self.spec.server, self.spec.tool, arguments, context)


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

    def add(self, spec: ServerSpec, listing: ServerListing, servers: Servers) -> int:
        """Take in the tools of a server, less those that its settings hide; return how many."""
        count = 0
        names = [tool.name for tool in listing.tools]
        for key, patterns in (("allow", spec.allow), ("deny", spec.deny)):
            self.problems += [
                f"{spec.origin} (servers.{spec.name}.{key}): {pattern!r} matches no tool"
                for pattern in patterns
                if pattern != "*" and not any(matches_any(name, (pattern,)) for name in names)
            ]
        for tool in listing.tools:
            if matches_any(tool.name, spec.allow) and not matches_any(tool.name, spec.deny):
                count += self._take(spec.name, tool, servers)
        self.problems += [f"MCP server {spec.name!r}: {text}" for text in listing.warnings]
        return count

    def _take(self, server: str, tool: RemoteTool, servers: Servers) -> int:
        name = model_name(server, tool.name)
        if (other := self.tools.get(name)) is not None:
            self.problems.append(
                f"tool {tool.name!r} of {server!r} is withheld: its name {name} is that of "
                f"{other.spec.tool!r} of {other.spec.server!r}"
            )
            return 0
        try:
            parameters, changes = lowered(tool.input_schema)
        except Untranslatable as error:
            self.problems.append(f"tool {name} is withheld: {error}")
            return 0
        hints = tool.annotations
        claims = hints.get("readOnlyHint") is True
        read_only = claims and hints.get("destructiveHint") is not True
        spec = ToolSpec(
            name,
            tool.description or tool.title,
            parameters,
            server=server,
            tool=tool.name,
            read_only=read_only,
            destructive=not read_only and hints.get("destructiveHint") is not False,
            concurrency_safe=read_only,
        )
        broken = any(BROKEN in change for change in changes)
        self.tools[name] = McpTool(spec, parameters if broken else tool.input_schema, servers)
        return 1


async def build_catalog(
    specs: Sequence[ServerSpec],
    *,
    servers: Servers,
    cache: ListingCache,
) -> Catalog:
    """Put the catalog together, from the cache where it knows a server, else from the server.

    Servers that the cache does not know are started together; one that fails costs only itself
    and is named in ``failed``.
    """
    known = {spec.name: cache.load(spec) for spec in specs}
    fresh: dict[str, ServerListing] = {}
    catalog = Catalog()

    async def ask(spec: ServerSpec) -> None:
        try:
            fresh[spec.name] = await servers.listing(spec.name)
        except ServerError as error:
            catalog.failed[spec.name] = str(error)
        else:
            cache.save(spec, fresh[spec.name])

    async with anyio.create_task_group() as group:
        for spec in specs:
            if known[spec.name] is None:
                group.start_soon(ask, spec)
    for spec in specs:
        if (listing := known[spec.name]) is not None:
            catalog.cached[spec.name] = catalog.add(spec, listing, servers)
        elif spec.name in fresh:
            catalog.connected[spec.name] = catalog.add(spec, fresh[spec.name], servers)
    return catalog


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
        if before is None or before.tools != now.tools:
            cache.save(spec, now)
        if before is not None and (change := listing_change(before, now)) is not None:
            emit(change)

    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(compare, spec)
