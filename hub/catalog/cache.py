"""What servers said of themselves the last time, so that a run can start before they do."""

import hashlib
import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hub.core.ports import RemoteTool, ServerListing
from hub.core.servers import ServerSpec
from hub.version import __version__

FORMAT = 1
BUNDLED_PACKAGE = "hub_servers"


class ListingCache:
    """A folder with one JSON file for each server; it may be deleted at any time.

    Without a folder nothing is known and nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._sources: str | None = None

    def load(self, spec: ServerSpec) -> ServerListing | None:
        """Return what a server of this launch spec listed the last time; None when unknown."""
        path = self._path(spec)
        if path is None:
            return None
        try:
            data = json.loads(path.read_bytes())
            if data.pop("format") != FORMAT:
                return None
            tools = tuple(RemoteTool(**tool) for tool in data.pop("tools"))
            warnings = tuple(data.pop("warnings"))
            return ServerListing(**{**data, "server": spec.name}, tools=tools, warnings=warnings)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def save(self, spec: ServerSpec, listing: ServerListing) -> None:
        """Keep a listing for the next run; a cache that cannot be written is no fault."""
        path = self._path(spec)
        if path is None:
            return
        text = json.dumps({"format": FORMAT, **asdict(listing)}, ensure_ascii=True)
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
