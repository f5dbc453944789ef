"""Which server a command is to start, and whether it may be."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hub.app.mcp.looks import look_around
from hub.app.setup import find_sources
from hub.config.paths import tidied
from hub.core.errors import UsageError
from hub.core.servers import ServerSpec
from hub.core.team import Origin
from hub.pins.approvals import launch_words

TYPED = "server"
"""Name of a server that was typed instead of configured."""


class Target(Struct, frozen=True):
    """A server that a command is about to start or reach."""

    spec: ServerSpec
    approved: bool
    """The user wrote it, typed it, or approved it."""
    workspace: Path
    environ: Mapping[str, str]
    state: Path
    """Where sign-ins and records are."""

    @property
    def words(self) -> str:
        """What would be started or reached, on one line."""
        return launch_words(self.spec)

    def refusal(self) -> UsageError:
        """Return the error for one that is not approved, where nobody can be asked."""
        return not_approved(self.spec)


def not_approved(spec: ServerSpec) -> UsageError:
    """Return the error for a server that may not be started."""
    return UsageError(
        f"the MCP server {spec.name!r} is not approved, so nothing was started",
        where=f"{spec.origin} (servers.{spec.name})",
        remedy=f"Look at it with hub mcp status {spec.name}, then run: hub mcp approve {spec.name}",
    )


def configured(workspace: Path, server: str, *, strict_mcp: Path | None = None) -> Target:
    """Return a server of the settings by name.

    Raises:
        UsageError: there is none of this name, or the settings are wrong.
    """
    view = look_around(workspace, strict_mcp=strict_mcp)
    look = view.find(server)
    approved = look.standing is None or look.standing.approved
    sources = view.setup.loaded.sources
    return Target(look.spec, approved, view.setup.workspace, sources.environ, sources.paths.state)


def typed(workspace: Path, *, command: str = "", url: str = "") -> Target:
    """Return a server that the user typed as a command line or an address.

    Raises:
        UsageError: both or neither is given, or the command line cannot be read.
    """
    if bool(command.strip()) == bool(url.strip()):
        raise UsageError("name a server, or give one of --command and --url")
    sources, origin = find_sources(workspace), Origin("flag")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command line cannot be read: {error}") from None
    if url:
        spec = ServerSpec(TYPED, "http", url=url, origin=origin)
    else:
        spec = ServerSpec(TYPED, "stdio", words[0], tuple(words[1:]), origin=origin)
    return Target(
        spec,
        approved=True,
        workspace=tidied(workspace),
        environ=sources.environ,
        state=sources.paths.state,
    )
