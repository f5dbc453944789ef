"""What servers said of themselves the last time, so that a run can start before they do."""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import DecodeError, convert, to_builtins
from msgspec.json import Decoder

from hub.core.ports import ServerListing
from hub.core.servers import ServerSpec
from hub.version import __version__

FORMAT = 2
BUNDLED_PACKAGE = "hub_servers"


SHIPPED = Path(__file__).with_name("bundled.json")
"""What the hub's own servers list; written by ``pytest tests/catalog --update-golden``."""
UNREADABLE = (ValueError, TypeError, RecursionError, DecodeError)
"""What rubbish in a file can lead to."""


class _Stored(ServerListing, frozen=True):
    """A listing as it lies in a file."""

    format: int = 0


_DECODER = Decoder(_Stored)


def as_document(listing: ServerListing) -> dict[str, Any]:
    """Return a listing as JSON values."""
    return {"format": FORMAT, **to_builtins(listing)}


def listing_from(document: Mapping[str, Any] | bytes, server: str) -> ServerListing:
    """Return the listing in a document, or in its JSON, for a server of whatever name.

    Raises:
        ValueError: it is no listing of this format; other errors of ``UNREADABLE`` as well.
    """
    if isinstance(document, bytes):
        stored = _DECODER.decode(document)
    else:
        stored = convert(document, _Stored)
    if stored.format != FORMAT:
        raise ValueError("the format is another one")
    return ServerListing(
        server=server,
        protocol=stored.protocol,
        tools=stored.tools,
        version=stored.version,
        instructions=stored.instructions,
        prompts=stored.prompts,
        resources=stored.resources,
        warnings=stored.warnings,
    )


class ListingCache:
    """A folder with one JSON file for each server; it may be deleted at any time.

    Without a folder nothing is kept. What the hub's own servers list is known from the start, so
    that the first run need not ask them before its first model request.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._sources: str | None = None
        self._shipped: dict[str, Any] | None = None

    def load(self, spec: ServerSpec) -> ServerListing | None:
        """Return what a server of this launch spec listed the last time; None when unknown."""
        path, kept = self._path(spec), None
        if path is not None:
            with suppress(OSError, *UNREADABLE):
                kept = listing_from(path.read_bytes(), spec.name)
        if kept is None and spec.transport == "memory":
            kept = self.shipped(spec.command, spec.name)
        return kept

    def kept_at(self, spec: ServerSpec) -> float:
        """Return when the list of a server was kept, in seconds since 1970; 0 when it was not."""
        path = self._path(spec)
        with suppress(OSError):
            return 0.0 if path is None else path.stat().st_mtime
        return 0.0

    def shipped(self, bundled: str, server: str) -> ServerListing | None:
        """Return what a server that comes with the hub lists; None when there is no such one."""
        if self._shipped is None:
            self._shipped = json.loads(SHIPPED.read_bytes())
        known = self._shipped.get(bundled)
        return None if known is None else listing_from(known, server)

    def save(self, spec: ServerSpec, listing: ServerListing) -> None:
        """Keep a listing for the next run; a cache that cannot be written is no fault."""
        path = self._path(spec)
        if path is None:
            return
        text = json.dumps(as_document(listing), ensure_ascii=True)
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            fresh.replace(path)

    def _path(self, spec: ServerSpec) -> Path | None:
        if self._folder is None:
            return None
        key = spec.fingerprint()
        if spec.transport == "memory":
            key = f"{key}-{__version__}-{self._bundled_sources()}"
        elif spec.origin.path:
            # A relative command of one project is another program in the next.
            place = hashlib.sha256(spec.origin.path.encode("utf-8", "surrogateescape"))
            key = f"{key}-{place.hexdigest()[:8]}"
        return self._folder / f"{key}.json"

    def _bundled_sources(self) -> str:
        """Return a mark that changes when the sources of the bundled servers do."""
        if self._sources is None:
            found = find_spec(BUNDLED_PACKAGE)
            folders: Any = found.submodule_search_locations if found else ()
            marks = [
                (entry.name, stat.st_mtime_ns, stat.st_size)
                for folder in folders or ()
                for entry in os.scandir(folder)
                if entry.name.endswith(".py")
                for stat in (entry.stat(),)
            ]
            self._sources = hashlib.sha256(repr(sorted(marks)).encode()).hexdigest()[:12]
        return self._sources
