"""The pins of a workspace: the user's own, the project's lock, and what ships with the hub."""

import sys

from hub.app.servers import LazyServers
from hub.app.setup import Setup
from hub.catalog.cache import BUNDLED_PACKAGE, ListingCache
from hub.catalog.catalog import Catalog
from hub.connections.judging import quarantined
from hub.core.ports import Quarantine, ServerListing
from hub.core.servers import ServerSpec
from hub.pins.lockfile import Lock, read_lock
from hub.pins.store import PinStore


def pin_store(setup: Setup, lock: Lock | None = None) -> PinStore:
    """Return the pins with which listings in a workspace have to agree.

    Raises:
        ConfigError: the project's lock cannot be read.
    """
    sources = setup.loaded.sources
    project = sources.project
    return PinStore(
        sources.paths.state,
        project=project,
        lock=lock or read_lock(project),
        shipped=shipped_listing,
    )


def shipped_listing(spec: ServerSpec) -> ServerListing | None:
    """Return what one of the hub's own servers lists; None for every other server."""
    name = bundled_name(spec)
    return ListingCache(None).shipped(name, spec.name) if name else None


def bundled_name(spec: ServerSpec) -> str:
    """Return which of the hub's own servers a launch starts; empty for none."""
    if spec.transport == "memory":
        return spec.command
    own = spec.transport == "stdio" and spec.command == sys.executable and not spec.env
    if not own or spec.args[:-1] != ("-P", "-m") or spec.cwd:
        return ""
    package, _, name = spec.args[-1].partition(".")
    return name if package == BUNDLED_PACKAGE else ""


def cached_quarantine(setup: Setup, spec: ServerSpec, pins: PinStore) -> Quarantine:
    """Return what of a server is held back by what it said the last time; starts nothing."""
    cache = ListingCache(setup.loaded.sources.paths.cache / "catalog")
    listing = cache.load(spec)
    return Quarantine() if listing is None else pins.check(spec, listing)


def tell_held_back(catalog: Catalog, servers: LazyServers) -> None:
    """Tell of what the catalog leaves out because it is not what was approved."""
    for shelf in catalog.shelves.values():
        if shelf.quarantine:
            servers.tell(quarantined(shelf.spec, shelf.quarantine))


def held_parts(catalog: Catalog) -> dict[str, dict[str, str]]:
    """Return what the catalog leaves out: the reason by server and part, such as ``tool echo``."""
    return {
        name: parts_of(shelf.quarantine)
        for name, shelf in catalog.shelves.items()
        if shelf.quarantine
    }


def held_problems(catalog: Catalog) -> list[str]:
    """Return what the catalog leaves out, one line for each server."""
    return [
        f"MCP server {name!r}: held back until it is approved (hub mcp diff {name}): "
        + "; ".join(f"{part}: {why}" for part, why in parts.items())
        for name, parts in held_parts(catalog).items()
    ]


def parts_of(held: Quarantine) -> dict[str, str]:
    """Return the reason by part, such as ``tool echo``."""
    groups = (("tool", held.tools), ("prompt", held.prompts), ("resource", held.resources))
    found = {f"{kind} {name}": why for kind, reasons in groups for name, why in reasons.items()}
    return found | ({"instructions": held.instructions} if held.instructions else {})
