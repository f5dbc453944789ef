"""Keeps what servers gave us when the user signed in: in the system's keyring, or a private file.

One small file for each server in ``tokens/`` of the state folder says that there is a sign-in and
where its secrets are. It is bound to the server's name and address, so that no other server ever
gets the token. This module needs neither the MCP library nor, before it is asked, the keyring.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import anyio.to_thread
import msgspec
from msgspec import Struct

from hub.config.paths import make_private_dir, write_private
from hub.connections.locking import file_lock
from hub.core.errors import ConfigError
from hub.core.servers import ServerSpec

FOLDER = "tokens"
KEYRING_SERVICE = "hub sign-in"
LOCK_LIMIT = 60.0
"""Seconds that we wait for another process that is signing in or renewing a token."""
_VERSION = 1
_PLAIN = re.compile(r"[^A-Za-z0-9_-]")


class SignIn(Struct, frozen=True):
    """A sign-in at one server: the token, and what it takes to renew it."""

    access_token: str
    refresh_token: str = ""
    """Empty when the provider gave none; then the user has to sign in anew in the end."""
    expires_at: float | None = None
    """Seconds since 1970; None when the provider did not say, so the token holds until refused."""
    scope: str = ""
    token_endpoint: str = ""
    resource: str = ""
    """What the token is for (RFC 8707)."""
    issuer: str = ""
    client_id: str = ""
    client_secret: str = ""
    auth_method: str = ""
    """How the client proves who it is at the token endpoint, as RFC 7591 calls it."""
    redirect_uri: str = ""
    registered: bool = False
    """The client was registered on the way, so that it can be used again for this address."""
    signed_in_at: float = 0.0

    def __repr__(self) -> str:
        return f"SignIn(issuer={self.issuer!r}, scope={self.scope!r}, expires_at={self.expires_at})"


class Vault(Protocol):
    """A place for secrets."""

    def put(self, name: str, text: str) -> bool:
        """Keep a text; say whether it is kept."""
        ...

    def get(self, name: str) -> str | None:
        """Return a text that is kept; None when there is none or it cannot be had."""
        ...

    def drop(self, name: str) -> None:
        """Forget a text."""
        ...


class SystemVault:
    """The keyring of the system, where the package for it is installed and a keyring is there."""

    def put(self, name: str, text: str) -> bool:
        """Keep a text; say whether it is kept."""
        ring = _keyring()
        if ring is None:
            return False
        with suppress(Exception):
            ring.set_password(KEYRING_SERVICE, name, text)
            return bool(ring.get_password(KEYRING_SERVICE, name) == text)
        return False

    def get(self, name: str) -> str | None:
        """Return a text that is kept; None when there is none or it cannot be had."""
        ring = _keyring()
        with suppress(Exception):
            found = None if ring is None else ring.get_password(KEYRING_SERVICE, name)
            return None if found is None else str(found)
        return None

    def drop(self, name: str) -> None:
        """Forget a text."""
        ring = _keyring()
        with suppress(Exception):
            if ring is not None:
                ring.delete_password(KEYRING_SERVICE, name)


class TokenStore:
    """Reads and writes sign-ins; nothing exists before the first one."""

    def __init__(self, state: Path, *, vault: Vault | None = None) -> None:
        """Keep them below the state folder; ``vault`` stands for the system's keyring."""
        self._folder = state / FOLDER
        self._vault = vault or SystemVault()

    async def load(self, spec: ServerSpec) -> SignIn | None:
        """Return the sign-in at a server; None when there is none.

        Raises:
            ConfigError: there is one, and it cannot be read.
        """
        if not self._path(spec).exists():
            return None
        return await anyio.to_thread.run_sync(self._load, spec)

    async def save(self, spec: ServerSpec, sign_in: SignIn) -> str:
        """Replace the sign-in at a server; return where it is kept: ``keyring`` or ``file``.

        Hold the lock meanwhile.

        Raises:
            ConfigError: it cannot be written.
        """
        return await anyio.to_thread.run_sync(self._save, spec, sign_in)

    async def forget(self, spec: ServerSpec) -> bool:
        """Delete the sign-in at a server; say whether there was one. Hold the lock meanwhile."""
        return await anyio.to_thread.run_sync(self._forget, spec)

    def knows(self, spec: ServerSpec) -> bool:
        """Say whether there is a sign-in at a server, without reading it."""
        return self._path(spec).exists()

    @asynccontextmanager
    async def lock(self, spec: ServerSpec) -> AsyncIterator[None]:
        """Let nobody else, in this process or another, replace the sign-in at a server.

        Raises:
            TimeoutError: somebody else holds it for too long.
            ConfigError: the folder cannot be written.
        """
        try:
            make_private_dir(self._folder)
            path = self._path(spec).with_suffix(".lock")
        except OSError as error:
            raise self._unusable("written", error.strerror or "", self._folder) from None
        async with file_lock(path, limit=LOCK_LIMIT):
            yield

    def _load(self, spec: ServerSpec) -> SignIn | None:
        path = self._path(spec)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                raise ValueError(f"it is of version {data['version']!r}")
            if data["kept"] == "file":
                return msgspec.convert(data["sign_in"], SignIn)
            text = self._vault.get(self._key(spec))
            if text is None:
                raise ValueError("the keyring of the system does not give it out")
            return msgspec.json.decode(text, type=SignIn)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._unusable("read", _reason(error), path) from None

    def _save(self, spec: ServerSpec, sign_in: SignIn) -> str:
        text = msgspec.json.encode(sign_in).decode()
        data: dict[str, Any] = {"version": _VERSION, "server": spec.name}
        if self._vault.put(self._key(spec), text):
            data["kept"] = "keyring"
        else:
            data |= {"kept": "file", "sign_in": msgspec.to_builtins(sign_in)}
        path = self._path(spec)
        try:
            write_private(path, json.dumps(data, indent=2) + "\n")
        except OSError as error:
            raise self._unusable("written", error.strerror or "", path) from None
        return str(data["kept"])

    def _forget(self, spec: ServerSpec) -> bool:
        path = self._path(spec)
        there = path.exists()
        path.unlink(missing_ok=True)
        self._vault.drop(self._key(spec))
        return there

    def _path(self, spec: ServerSpec) -> Path:
        return self._folder / f"{self._key(spec)}.json"

    def _key(self, spec: ServerSpec) -> str:
        bound = hashlib.sha256(f"{spec.name}\n{spec.url}".encode()).hexdigest()[:16]
        return f"{_PLAIN.sub('-', spec.name)[:40]}-{bound}"

    def _unusable(self, verb: str, reason: str, path: Path) -> ConfigError:
        return ConfigError(
            f"the sign-in cannot be {verb}: {reason}",
            where=str(path),
            remedy="Sign in again with: hub mcp login NAME",
        )


def _reason(error: Exception) -> str:
    """Return what is wrong with a file without quoting it."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error) if type(error) is ValueError else f"it is damaged ({type(error).__name__})"


def _keyring() -> Any:
    """Return the keyring package when it has a real keyring behind it, else None."""
    try:
        import keyring
    except ImportError:
        return None
    with suppress(Exception):
        if keyring.get_keyring().priority >= 1:
            return keyring
    return None
