"""Events of MCP servers."""

from typing import Literal

from pydantic import Field

from hub.core.events.envelope import Event


class ServerConnected(Event):
    """An MCP server answered the handshake."""

    type: Literal["server.connected"] = "server.connected"
    server: str
    """Name of the server in the settings."""
    protocol: str
    """Negotiated protocol version."""
    tools: int
    """How many tools it lists."""
    duration_ms: int
    """Time from its start to its list of tools."""


class ServerFailed(Event):
    """An MCP server did not start, or went away."""

    type: Literal["server.failed"] = "server.failed"
    server: str
    """Name of the server in the settings."""
    error: str
    """What happened."""
    where: str = ""
    """File and line that describe the server."""
    remedy: str = ""
    """What to do about it."""
    stderr: str = ""
    """The last lines that it wrote to stderr."""


class CatalogChanged(Event):
    """A server's tools are not those of the cached catalog."""

    type: Literal["catalog.changed"] = "catalog.changed"
    server: str
    """Name of the server in the settings."""
    added: list[str] = Field(default_factory=list)
    """Names of its tools that are new."""
    removed: list[str] = Field(default_factory=list)
    """Names of its tools that are gone."""
    changed: list[str] = Field(default_factory=list)
    """Names of its tools that are described otherwise."""
