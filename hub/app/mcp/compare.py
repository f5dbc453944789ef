"""Servers as they are now against what was approved and against ``hub.lock``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.app.inspect import listing_cache
from hub.app.mcp.approval import (
    Discovered,
    approval_state,
    discovered,
    launch_changes,
    require_spec,
)
from hub.app.mcp.live import Live, ask_servers
from hub.app.pinned import bundled_name, pin_store
from hub.app.setup import Setup, find_sources, load_setup
from hub.core.errors import ConfigError
from hub.core.ports import ServerListing
from hub.core.servers import ServerSpec
from hub.pins.lockfile import LOCK, Lock, read_lock
from hub.pins.offer import Change, Offer, changes
from hub.pins.store import PinStore
from hub.pins.words import change_line, change_words, text_diff

UNUSABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What rubbish in a file of pins can lead to."""


class Comparison(Struct, frozen=True):
    """One server now against what was approved of it."""

    spec: ServerSpec
    approved: bool
    approval: str
    """Why it may be started or not, in words."""
    launch: tuple[str, ...] = ()
    """How its launch differs from the one that was approved."""
    error: str = ""
    """Why it could not be asked."""
    listing: ServerListing | None = None
    pinned: bool = False
    """Something was pinned before."""
    now: Offer = Offer()
    changes: tuple[Change, ...] = ()
    """Against the pins."""
    lock_changes: tuple[Change, ...] = ()
    """Against ``hub.lock``, where it speaks of the server."""
    unreadable: tuple[str, ...] = ()
    """Tools that cannot be compared at all."""

    def lines(self, *, text: bool = False) -> list[str]:
        """Say what differs, one line each, with the texts below where they are wanted."""
        own = [(change_line(change), change) for change in self.changes]
        known = {line for line, _ in own}
        locked = [(change_line(change), change) for change in self.lock_changes]
        own += [(f"against hub.lock: {line}", one) for line, one in locked if line not in known]
        found: list[str] = []
        for line, change in own:
            found.append(line)
            if text:
                found += [f"  {part}" for part in text_diff(change).split("\n")]
        if any(line in known for line, _ in locked):
            found.append("hub.lock is as it was approved before")
        return found + [f"tool {tool!r} cannot be compared" for tool in self.unreadable]

    @property
    def differs(self) -> bool:
        """Say whether anything is not as it was approved or locked."""
        return bool(self.launch or self.changes or self.lock_changes or self.unreadable)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "server": self.spec.name,
            "approved": self.approved,
            "approval": self.approval,
            "launch": list(self.launch),
            "error": self.error,
            "pinned": self.pinned,
            "changes": [_change_dict(change, "pins") for change in self.changes]
            + [_change_dict(change, "hub.lock") for change in self.lock_changes],
            "unreadable": list(self.unreadable),
        }


class Bench(Struct, frozen=True):
    """A workspace's settings and pins, opened for comparing."""

    setup: Setup
    pins: PinStore

    @property
    def found(self) -> list[Discovered]:
        """Every server that has pins of its own: all but those of the hub."""
        return [one for one in discovered(self.setup) if not bundled_name(one.spec)]


def open_bench(workspace: Path, *, rewrite: bool = False, strict_mcp: Path | None = None) -> Bench:
    """Read settings, approvals and pins; nothing is started.

    With ``rewrite``, a lock that cannot be read counts as empty.

    Raises:
        UsageError: the workspace, its settings or its lock are wrong.
    """
    setup = load_setup(workspace, find_sources(workspace, strict_mcp=strict_mcp))
    project = setup.loaded.sources.project
    try:
        lock = read_lock(project)
    except ConfigError:
        if not rewrite:
            raise
        lock = Lock(project / LOCK)
    return Bench(setup, pin_store(setup, lock))


async def compare_servers(bench: Bench, servers: Sequence[str] = ()) -> list[Comparison]:
    """Start servers, all or those named, and compare each; one not approved is not started.

    Raises:
        UsageError: there is no server of a name.
    """
    specs = [require_spec(bench.setup, name) for name in servers]
    if not specs:
        specs = [one.spec for one in bench.found]
    standings = {spec.name: approval_state(spec, bench.setup) for spec in specs}
    ready = [spec for spec in specs if standings[spec.name].approved]
    live = await ask_servers(bench.setup, ready) if ready else {}
    found = []
    for spec in specs:
        standing = standings[spec.name]
        if standing.approved:
            found.append(compared(bench, live[spec.name], standing.words))
        else:
            record = standing.record
            launch = tuple(launch_changes(spec, record)) if record else ()
            found.append(Comparison(spec, approved=False, approval=standing.words, launch=launch))
    return found


def compared(bench: Bench, live: Live, approval: str) -> Comparison:
    """Compare one server that was asked."""
    spec = live.spec
    if live.listing is None:
        return Comparison(spec, approved=True, approval=approval, error=live.error)
    pinned = read_pins(bench.pins, spec)
    return Comparison(
        spec=spec,
        approved=True,
        approval=approval,
        listing=live.listing,
        pinned=pinned is not None,
        now=live.offer,
        changes=() if pinned is None else tuple(changes(pinned, live.offer)),
        lock_changes=tuple(bench.pins.lock_changes(spec, live.offer)),
        unreadable=live.unreadable,
    )


def accept(bench: Bench, found: Comparison, chosen: Sequence[Change] | None = None) -> None:
    """Pin a server as it is now: all of it, or only some of what changed.

    Raises:
        ConfigError: the pins cannot be read or written.
    """
    try:
        bench.pins.accept(found.spec, found.now, chosen)
    except UNUSABLE as error:
        raise _unusable(bench.pins, found.spec, error) from None
    if found.listing is not None:
        listing_cache(bench.setup).save(found.spec, found.listing)


def read_pins(pins: PinStore, spec: ServerSpec) -> Offer | None:
    """Return what was approved of a server; None when nothing was yet.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return pins.pinned(spec)
    except UNUSABLE as error:
        raise _unusable(pins, spec, error) from None


def _unusable(pins: PinStore, spec: ServerSpec, error: Exception) -> ConfigError:
    return ConfigError(
        f"the pins of server {spec.name!r} cannot be used: {type(error).__name__}: {error}",
        where=str(pins.path(spec)),
        remedy=f"Remove the file, then look at what the server says: hub mcp approve {spec.name}",
    )


def _change_dict(change: Change, against: str) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "name": change.name,
        "what": change.what,
        "against": against,
        "held_back": change.held_back,
        "words": change_words(change),
        "diff": text_diff(change),
    }
