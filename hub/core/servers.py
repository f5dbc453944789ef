"""How an MCP server is started or reached, as a value with a fingerprint."""

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from hub.core.team import Origin

Transport = Literal["memory", "stdio", "http"]


class ServerSpec(Struct, frozen=True):
    """The launch spec of one MCP server."""

    name: str
    """Name in the settings; the first half of its tools' model-facing names."""
    transport: Transport
    command: str = ""
    """Program to start; for ``memory``, the bundled server's name: files, shell or notes."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables given to the server beside the allow-list; values may be ``${env:NAME}``."""
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    start_timeout: float = 30.0
    """Seconds until a server that has not answered the handshake counts as failed."""
    call_timeout: float = 300.0
    """Seconds that one call may take."""
    allow: tuple[str, ...] = ("*",)
    """Patterns over the server's own tool names."""
    deny: tuple[str, ...] = ()
    origin: Origin = field(default_factory=lambda: Origin("default"))

    def fingerprint(self) -> str:
        """Return 16 hex digits that change when what is launched or reached changes.

        Names of variables and headers count, their values do not: a rotated token is no change.
        """
        parts = {
            "transport": self.transport,
            "command": self.command,
            "args": list(self.args),
            "env": sorted(self.env),
            "cwd": self.cwd,
            "url": self.url,
            "headers": sorted(self.headers),
        }
        canonical = json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.sha256(canonical).hexdigest()[:16]
