"""What of a server is pinned and what is held back, read without writing a pin."""

from msgspec import Struct

from hub.app.pinned import parts_of, pin_store
from hub.app.setup import Setup
from hub.core.ports import Quarantine, ServerListing
from hub.core.servers import ServerSpec
from hub.pins.lockfile import read_lock
from hub.pins.offer import offer_of
from hub.pins.store import quarantine

_RUBBISH = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What pins that cannot be read lead to."""


class Pinned(Struct, frozen=True):
    """The pins of one server, against what it listed the last time."""

    quarantine: Quarantine = Quarantine()
    tools: int = 0
    """How many tools are pinned."""
    exists: bool = False
    """There are pins of this server."""
    locked: bool = False
    """``hub.lock`` speaks of the server."""

    @property
    def held_back(self) -> int:
        """How many of its parts are held back."""
        return len(self.reasons())

    def reasons(self) -> dict[str, str]:
        """Return why each part is held back, by kind and name: ``tool echo``."""
        return parts_of(self.quarantine)


class PinReader:
    """Compares cached lists with the pins of a workspace's servers."""

    def __init__(self, setup: Setup) -> None:
        """Read the lock of the project.

        Raises:
            ConfigError: it cannot be read.
        """
        self._lock = read_lock(setup.loaded.sources.project)
        self.store = pin_store(setup, self._lock)

    def of(self, spec: ServerSpec, listing: ServerListing) -> Pinned:
        """Return what is pinned of a server and what of a list is held back; pins nothing new."""
        if spec.transport == "memory":
            return Pinned()
        locked = spec.name in self._lock.servers
        try:
            pinned = self.store.pinned(spec)
        except _RUBBISH:
            return Pinned(self.store.check(spec, listing), exists=True, locked=locked)
        if pinned is not None:
            held = self.store.check(spec, listing)
            return Pinned(held, len(pinned.tools), exists=True, locked=locked)
        if not locked:
            return Pinned()
        # Asking the store would pin what nobody has seen yet.
        now, unreadable = offer_of(listing)
        held = quarantine((), self.store.lock_changes(spec, now), unreadable)
        return Pinned(held, locked=True)
