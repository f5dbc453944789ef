"""The pins of a workspace: the user's own, the project's lock, and what ships with the hub."""

import sys

from hub.app.setup import Setup
from hub.catalog.cache import BUNDLED_PACKAGE, ListingCache
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
