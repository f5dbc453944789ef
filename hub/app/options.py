"""What a caller may choose for a hub, and what the hub says of itself once it is open."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hub.core.asking import Elicitation, Elicited, Elicitor
from hub.core.ports import Answer, Asker, Question
from hub.core.team import PermissionMode


class RunOptions(Struct, frozen=True):
    """The choices of one caller; what is None is left to the settings."""

    workspace: Path = field(default_factory=Path.cwd)
    """Folder whose files the team works on."""
    role: str | None = None
    """Who answers; a user-facing role."""
    model: str | None = None
    """A model's name, an entry of ``models:``, or ``script:FILE``."""
    mode: PermissionMode | None = None
    """The widest permission mode for the whole tree."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Settings that win over every file, by dotted key."""
    assignments: Sequence[str] = ()
    """``key=value`` texts that win over everything else."""
    team: Path | None = None
    """A folder with a ``config.yaml`` and ``roles/`` that are used beside the project's own."""
    strict_mcp_config: Path | None = None
    """A list of MCP servers, in any known format, whose servers are the only ones."""
    strict: bool = False
    """Refuse to run when anything is withheld because the workspace is not trusted."""
    resume: str | None = None
    """A stored session, by id or unique prefix, that goes on."""
    fork: str | None = None
    """A stored session, by id or unique prefix, of which a copy goes on."""
    asker: Asker | None = None
    """Who puts permission questions to a person; None means that there is nobody."""
    elicitor: Elicitor | None = None
    """Who puts questions of servers to a person; None means that there is nobody."""
    env: Mapping[str, str] | None = None
    """Environment to read settings and secrets from; None takes the process's own."""


class ServerState(Struct, frozen=True):
    """One MCP server as a run sees it at its start."""

    name: str
    state: str
    """``connected``, ``cached`` (tools known, not started yet), ``starting`` (its tools join when
    it is up), ``failed`` or ``withheld``."""
    tools: int = 0
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return {"name": self.name, "state": self.state, "tools": self.tools, "error": self.error}


class InitInfo(Struct, frozen=True):
    """What a run starts with: what loaded, what failed, what is withheld."""

    session_id: str
    """The session of the root agent."""
    role: str
    """Who answers."""
    model: str
    """Name of that role's model."""
    workspace: str
    """The folder that the team works on."""
    mode: PermissionMode
    """The widest permission mode of all agents."""
    tools: Sequence[str] = ()
    """Names of the tools of the root agent."""
    servers: Sequence[ServerState] = ()
    """The MCP servers, each with ``name``, ``state``, ``tools`` and ``error``."""
    withheld: Sequence[str] = ()
    """What an untrusted workspace asked for and did not get, one line each."""
    quarantined: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What servers listed before and is held back now, with the reason: by server, then by part."""
    config_files: Sequence[str] = ()
    """The settings files that were read."""
    problems: Sequence[str] = ()
    """What is wrong without being fatal, one line each."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return {
            "session_id": self.session_id,
            "role": self.role,
            "model": self.model,
            "workspace": self.workspace,
            "mode": self.mode,
            "tools": list(self.tools),
            "servers": [server.as_dict() for server in self.servers],
            "withheld": list(self.withheld),
            "quarantined": {name: dict(parts) for name, parts in self.quarantined.items()},
            "config_files": list(self.config_files),
            "problems": list(self.problems),
        }


class NobodyToAsk:
    """The Asker and the Elicitor port where there is no person."""

    async def ask(self, question: Question) -> Answer:
        """Answer at once that nobody could be asked."""
        return "nobody"

    async def elicit(self, question: Elicitation) -> Elicited:
        """Answer at once that nobody could be asked."""
        return Elicited("nobody")
