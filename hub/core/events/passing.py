"""Transient events: they pass by while a durable one that contains them is in the making."""

from typing import Literal

from hub.core.events.envelope import Transient


class TextDelta(Transient):
    """Some more text of the answer that is being written."""

    type: Literal["text.delta"] = "text.delta"
    text: str
    """What comes next."""


class ReasoningDelta(Transient):
    """Some more of the model's reasoning."""

    type: Literal["reasoning.delta"] = "reasoning.delta"
    text: str
    """What comes next."""


class ToolProgress(Transient):
    """A running tool tells how far it is."""

    type: Literal["tool.progress"] = "tool.progress"
    call_id: str
    """The call that is running."""
    name: str
    """Model-facing name of the tool."""
    message: str = ""
    """What the tool says."""
    progress: float | None = None
    """How far it is, in units of its own."""
    total: float | None = None
    """How far it has to go, when that is known."""


class JobProgress(Transient):
    """A dispatched job changed its state."""

    type: Literal["job.progress"] = "job.progress"
    job: str
    """The job, unique."""
    role: str
    """Role of the child."""
    state: Literal["queued", "running"]
    """Whether it waits for a place or runs."""
    position: int = 0
    """Place in the queue, from 1; 0 when running."""


class ServerLog(Transient):
    """An MCP server logged something."""

    type: Literal["server.log"] = "server.log"
    server: str
    """Name of the server in the settings."""
    level: str
    """How grave the server thinks it is."""
    text: str
    """What the server says."""
