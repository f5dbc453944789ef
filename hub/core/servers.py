"""How an MCP server is started or reached, as a value with a fingerprint."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from hub.core.team import Origin

Transport = Literal["memory", "stdio", "http", "sse"]
Stateful = Literal["", "shared", "per-agent"]
Ask = Literal["elicitation", "roots", "sampling"]
"""What a server may ask of us: the user, the place of the workspace, the agent's model."""


class ToolRule(Struct, frozen=True):
    """What the settings change about one tool of a server; all of it happens on our side."""

    rename: str = ""
    """Takes the place of the tool's own name in the model-facing one."""
    description: str = ""
    """Takes the place of the server's text."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that are put in where a call does not give them."""
    hidden: tuple[str, ...] = ()
    """Arguments that no model sees or may give; their values come from ``defaults``."""
    idempotent: bool | None = None
    """Whether a call may be repeated when it may have run; None takes the pinned annotation."""
    origin: Origin = field(default_factory=lambda: Origin("default"))
    """Where the rule stands."""


class OAuth(Struct, frozen=True):
    """How hub signs in at a remote server; empty parts are found out or registered."""

    client_id: str = ""
    client_secret: str = ""
    """May be a reference such as ``${env:NAME}``."""
    scopes: tuple[str, ...] = ()
    redirect_port: int = 0
    """Port on loopback to which the browser comes back; 0 takes a free one."""


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
    tools: Mapping[str, ToolRule] = field(default_factory=dict)
    """By the server's own name of the tool."""
    idle_timeout: float | None = None
    """Seconds without a call after which the server is stopped until it is needed; None: never."""
    stateful: Stateful = ""
    """``shared``: it remembers things, so it is never stopped while idle. ``per-agent``: each agent
    has a process, or a session, of its own."""
    serial: bool = False
    """It takes one call at a time; further ones wait."""
    oauth: OAuth | None = None
    """Given when hub is to sign in with settings of its own."""
    may_ask: tuple[Ask, ...] = ("elicitation",)
    """What it may ask in the middle of a call; all else is refused at once."""
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
