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


class ServerAsked(Event):
    """An MCP server asked something of us in the middle of a call, and what came of it.

    What a person typed and what a model answered are no part of it.
    """

    type: Literal["server.asked"] = "server.asked"
    server: str
    """Name of the server in the settings."""
    asked: Literal["elicitation", "roots", "sampling"]
    """A question to the user, the place of the workspace, or an answer of the agent's model."""
    outcome: Literal["answered", "declined", "cancelled", "refused", "failed"]
    """``declined`` and ``cancelled`` by a person, ``refused`` by us, before anybody was asked."""
    reason: str = ""
    """Why it was not answered."""
    message: str = ""
    """What the server says that it wants, cut short."""
    fields: list[str] = Field(default_factory=list)
    """Names of what it asks a person to fill in."""
    site: str = ""
    """Scheme and host of the address to which it sends the user."""
    call_id: str = ""
    """The call under which it asked; empty when that is not known."""


class CatalogChanged(Event):
    """What a server offers is not what it offered before, or not what the cache says."""

    type: Literal["catalog.changed"] = "catalog.changed"
    server: str
    """Name of the server in the settings."""
    added: list[str] = Field(default_factory=list)
    """Names of its tools that are new."""
    removed: list[str] = Field(default_factory=list)
    """Names of its tools that are gone."""
    changed: list[str] = Field(default_factory=list)
    """Names of its tools that are described otherwise."""
    prompts: bool = False
    """Whether its prompts are others."""
    resources: bool = False
    """Whether its resources or their templates are others."""
