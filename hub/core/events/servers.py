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


class ServerQuarantined(Event):
    """Some of what a server offers is not what was approved, and is held back."""

    type: Literal["server.quarantined"] = "server.quarantined"
    server: str
    """Name of the server in the settings."""
    tools: dict[str, str] = Field(default_factory=dict)
    """Why, in words, by the server's own name of the tool."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """The same for its prompts."""
    resources: dict[str, str] = Field(default_factory=dict)
    """The same for its resources and templates, by address."""
    instructions: str = ""
    """Why its instructions are held back; empty when they are not."""
    where: str = ""
    """File and line that describe the server."""
    remedy: str = ""
    """What to do about it."""


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
