"""``hub.lock``: what a project says its servers have to be. It narrows and approves nothing."""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.errors import ConfigError
from hub.core.servers import ServerSpec
from hub.pins.canonical import Json
from hub.pins.offer import Offer, as_document, offer_from
from hub.pins.packages import package_of

LOCK = "hub.lock"
"""The file in the project's folder; it is meant to be committed."""
_FORMAT = 1


class Locked(Struct, frozen=True):
    """What the file says of one server."""

    launch: str
    """Fingerprint of the launch, with the folder relative to the project."""
    offer: Offer
    package: Json | None = None
    """Registry, name and version, where the command shows them."""


class Lock(Struct, frozen=True):
    """The whole file."""

    path: Path
    servers: Mapping[str, Locked] = field(default_factory=dict)
    """By name; empty when there is no file."""
    digest: str = ""
    """Digest of the file; empty when there is none."""

    @property
    def exists(self) -> bool:
        """Say whether there is a file."""
        return bool(self.digest)


def read_lock(project: Path) -> Lock:
    """Read the lock of a project.

    Raises:
        ConfigError: it is there and cannot be read.
    """
    path = project / LOCK
    if not path.exists() and not path.is_symlink():
        return Lock(path)
    try:
        # A pipe or a device would be waited for.
        if not path.is_file():
            raise ValueError("it is no file")
        content = path.read_bytes()
        data = json.loads(content)
        if data["format"] != _FORMAT:
            raise ValueError(f"its format is {data['format']!r}")
        servers = {name: _locked(entry) for name, entry in data["servers"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _unusable(path, f"{type(error).__name__}: {error}") from None
    return Lock(path, servers, hashlib.sha256(content).hexdigest())


def locked(spec: ServerSpec, offer: Offer, project: Path) -> Locked:
    """Return what the file is to say of a server; resources are data, so not of those."""
    package = package_of(spec)
    lasting = replace(offer, resources={})
    return Locked(portable_launch(spec, project), lasting, package.as_dict() if package else None)


def write_lock(lock: Lock) -> None:
    """Write the file in one step; the same content is the same text.

    Raises:
        ConfigError: it cannot be written.
    """
    draft = lock.path.with_name(f".{LOCK}.{secrets.token_hex(4)}")
    try:
        draft.write_text(lock_text(lock.servers), encoding="utf-8")
        draft.replace(lock.path)
    except OSError as error:
        raise ConfigError(f"cannot write {LOCK}: {error.strerror}", where=str(lock.path)) from None
    finally:
        draft.unlink(missing_ok=True)


def lock_text(servers: Mapping[str, Locked]) -> str:
    """Return the file's text."""
    entries = {name: _entry(servers[name]) for name in servers}
    document = {"format": _FORMAT, "servers": entries}
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def portable_launch(spec: ServerSpec, project: Path) -> str:
    """Return the launch's fingerprint as it is in every copy of the project."""
    if not spec.cwd or "${" in spec.cwd:
        return spec.fingerprint()
    relative = Path(os.path.relpath(spec.cwd, project)).as_posix()
    return replace(spec, cwd=relative).fingerprint()


def _entry(server: Locked) -> Json:
    entry: Json = {"launch": server.launch, **as_document(server.offer)}
    return entry | ({"package": server.package} if server.package else {})


def _locked(entry: Any) -> Locked:
    launch, package = entry["launch"], entry.get("package")
    if not isinstance(launch, str) or not isinstance(package, dict | None):
        raise ValueError("an entry has no launch")
    return Locked(launch, offer_from(entry), package)


def _unusable(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"the lock cannot be read: {reason}",
        where=str(path),
        remedy="Take it from version control again, or write it anew: hub mcp lock",
    )
