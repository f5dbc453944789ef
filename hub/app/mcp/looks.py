"""What is known of every server without starting one: state, approval, last life, pins.

Reads settings, approvals, records, the cached lists and the pins; nothing here needs the MCP
library, and nothing is written but the note that a list agreed with its pins.
"""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hub.app.mcp.approval import Discovered, Standing, discovered
from hub.app.mcp.masking import shown_command, shown_url, shown_values
from hub.app.mcp.naming import unknown_server
from hub.app.mcp.pinned import Pinned, PinReader
from hub.app.setup import Setup, find_sources, load_setup
from hub.catalog.cache import ListingCache
from hub.config.layers import Loaded
from hub.config.servers import server_spec
from hub.connections.records import Record, read_record
from hub.core.ports import ServerListing
from hub.core.servers import ServerSpec

ServerState = Literal[
    "disabled", "discovered", "changed", "approved", "starting", "connected", "idle", "failed",
    "crash-loop",
]  # fmt: skip

_LIVE: dict[str, ServerState] = {
    "starting": "starting",
    "warming": "starting",
    "connected": "connected",
    "idle": "idle",
    "failed": "failed",
    "crash-loop": "crash-loop",
}
"""What a record of the last life makes of an approved server; all else leaves it as it was."""


class Look(Struct, frozen=True):
    """One server as it is known from outside."""

    spec: ServerSpec
    state: ServerState
    """``discovered`` and ``changed`` may not be started, ``disabled`` is switched off, ``approved``
    may be started and does not run; else what the last hub that ran it left: ``starting``,
    ``connected``, ``idle``, ``failed`` or ``crash-loop``."""
    standing: Standing | None = None
    """Whether it may be started, and why; None for one that is switched off."""
    record: Record | None = None
    """Its last life; None when it was never started with this launch."""
    listing: ServerListing | None = None
    """What it listed the last time; None when that is not known."""
    pinned: Pinned = Pinned()
    """What of it is pinned and what is held back."""
    cached_at: float = 0.0
    """When the list was kept, in seconds since 1970; 0 when there is none."""

    @property
    def words(self) -> str:
        """The state, with what is held back."""
        words = {
            "discovered": "discovered (not approved)",
            "changed": "changed (not approved)",
        }.get(self.state, self.state)
        held = self.pinned.held_back
        return f"{words}, {held} quarantined" if held else words

    @property
    def tools(self) -> int | None:
        """How many tools it has; None when it was never listed."""
        if self.listing is not None:
            return len(self.listing.tools)
        return self.record.tools if self.record is not None and self.record.connected else None

    @property
    def error(self) -> str:
        """What went wrong last; empty when nothing did, or when it has been well since."""
        return self.record.error if self.record is not None else ""

    @property
    def noise(self) -> str:
        """What it prints where messages belong; empty for nothing."""
        record = self.record
        if record is None or not record.noise:
            return ""
        return f"{record.noise} × no message on standard output, first: {record.first_noise}"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON; secrets are left out."""
        spec, record, standing = self.spec, self.record, self.standing
        return {
            "name": spec.name,
            "state": self.state,
            "approved": standing is not None and standing.approved,
            "approval": standing.words if standing is not None else "",
            "transport": spec.transport,
            "command": shown_command(spec),
            "url": shown_url(spec.url),
            "env": shown_values(spec.env),
            "headers": shown_values(spec.headers),
            "origin": str(spec.origin),
            "fingerprint": spec.fingerprint(),
            "tools": self.tools,
            "quarantined": self.pinned.reasons(),
            "error": self.error,
            "stderr": record.stderr if record is not None else "",
            "exit_code": record.exit_code if record is not None else None,
            "noise": record.noise if record is not None else 0,
            "first_noise": record.first_noise if record is not None else "",
            "protocol": self._protocol,
            "started": record.started if record is not None else 0,
            "connected": record.connected if record is not None else 0,
            "ended": record.ended if record is not None else 0,
        }

    @property
    def _protocol(self) -> str:
        if self.record is not None and self.record.protocol:
            return self.record.protocol
        return self.listing.protocol if self.listing is not None else ""


class View(Struct, frozen=True):
    """A workspace with all its servers."""

    setup: Setup
    looks: tuple[Look, ...]
    """Those that may be started first, then those that wait for an approval, then the others."""

    def find(self, server: str) -> Look:
        """Return one server by name.

        Raises:
            UsageError: there is none of this name.
        """
        for look in self.looks:
            if look.spec.name == server:
                return look
        raise unknown_server(server, [look.spec.name for look in self.looks])


def look_around(workspace: Path, *, strict_mcp: Path | None = None) -> View:
    """Return all that is known of the servers of a workspace; nothing is started.

    ``strict_mcp`` is a file whose servers are the only ones.

    Raises:
        UsageError: the workspace or its settings are wrong.
    """
    setup = load_setup(workspace, find_sources(workspace, strict_mcp=strict_mcp))
    cache = ListingCache(setup.loaded.sources.paths.cache / "catalog")
    pins = PinReader(setup)
    found = [_look(one, setup, cache, pins) for one in discovered(setup)]
    names = {look.spec.name for look in found}
    off = [Look(spec, "disabled") for spec in _disabled(setup.loaded) if spec.name not in names]
    return View(setup, (*found, *off))


def _look(one: Discovered, setup: Setup, cache: ListingCache, pins: PinReader) -> Look:
    spec, standing = one.spec, one.standing
    if not standing.approved:
        return Look(spec, "changed" if standing.state == "changed" else "discovered", standing)
    record = read_record(setup.loaded.sources.paths.state, spec)
    state = _LIVE.get(record.current if record is not None else "", "approved")
    listing = cache.load(spec)
    return Look(
        spec,
        state,
        standing,
        record,
        listing,
        Pinned() if listing is None else pins.of(spec, listing),
        cache.kept_at(spec),
    )


def _disabled(loaded: Loaded) -> list[ServerSpec]:
    """Return the servers that are switched off, as they would be launched."""
    off = [name for name, entry in loaded.settings.servers.items() if not entry.enabled]
    if not off:
        return []
    entries = {
        name: entry.model_copy(update={"enabled": True})
        for name, entry in loaded.settings.servers.items()
    }
    settings = loaded.settings.model_copy(update={"servers": entries})
    switched_on = replace(loaded, settings=settings)
    found = (server_spec(switched_on, name) for name in off)
    return [spec for spec in found if spec is not None]
