"""The tools of a workspace as models see them, offered or withheld; from the cached lists."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from msgspec import Struct
from msgspec.structs import asdict

from hub.app.mcp.catalog import Known, never_listed
from hub.app.mcp.looks import View, look_around
from hub.app.mcp.opened import refresh
from hub.app.mcp.rights import Right, profile_for, right_of
from hub.app.mcp.target import not_approved
from hub.catalog.explain import Explained, Profile
from hub.catalog.items import Item
from hub.core.team import Role


class ToolView(Struct, frozen=True):
    """One tool."""

    explained: Explained
    mark: str
    """What the server says that calls do: ``read-only``, ``writes`` or ``destructive``."""
    right: Right | None = None
    """What the role that was asked about may do; None when none was."""

    @property
    def offered(self) -> bool:
        """Say whether models see it, and those of the role in particular."""
        return self.explained.offered and (self.right is None or self.right.granted)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        found = self.explained
        values: dict[str, Any] = {
            "name": found.name,
            "server": found.server,
            "tool": found.tool,
            "offered": self.offered,
            "withheld": found.withheld,
            "mark": self.mark,
            "description": found.description,
            "parameters": found.parameters,
            "rules": [asdict(touch) for touch in found.rules],
            "changed_for_models": list(found.transforms),
        }
        return values | ({"right": self.right.as_dict()} if self.right is not None else {})


class ToolList(Struct, frozen=True):
    """What a list of tools was asked for, and what came of it."""

    profile: Profile
    tools: tuple[ToolView, ...]
    """The offered ones first."""
    notes: tuple[str, ...]
    """Servers whose tools are not known, and what is odd, one line each."""


def list_tools(
    workspace: Path,
    server: str | None = None,
    *,
    role: str | None = None,
    renew: bool = False,
    strict_mcp: Path | None = None,
) -> ToolList:
    """Return the tools of all servers or of one; ``renew`` asks the approved ones anew first.

    Raises:
        UsageError: there is no such server or role, or nothing is known of the server.
    """
    view = look_around(workspace, strict_mcp=strict_mcp)
    failed: dict[str, str] = {}
    if renew:
        failed = anyio.run(refresh, view.setup, _to_ask(view, server))
        view = look_around(workspace, strict_mcp=strict_mcp)
    who = None if role is None else view.setup.book.get(role)
    profile = profile_for(view.setup, role=who)
    known = Known(view)
    if server is not None and view.find(server).listing is None and server not in failed:
        raise never_listed(view.find(server))
    items = [item for item in known.items() if server in (None, item.server.name)]
    return ToolList(
        profile,
        tuple(tool_view(known, item, profile, who) for item in items),
        tuple(_notes(view, known, server, failed)),
    )


def tool_view(known: Known, item: Item, profile: Profile, role: Role | None = None) -> ToolView:
    """Return one tool as models of a profile see it, with the right of a role."""
    spec = known.tool(item).spec
    mark = "read-only" if spec.read_only else "destructive" if spec.destructive else "writes"
    right = None if role is None else right_of(known.view.setup, role, known, item)
    return ToolView(item.explained(profile), mark, right)


def _to_ask(view: View, server: str | None) -> Sequence[Any]:
    """Return the servers that may be asked: approved ones only."""
    if server is None:
        return [look.spec for look in view.looks if look.standing and look.standing.approved]
    look = view.find(server)
    if look.standing is None or not look.standing.approved:
        raise not_approved(look.spec) if look.standing else never_listed(look)
    return [look.spec]


def _notes(view: View, known: Known, server: str | None, failed: dict[str, str]) -> list[str]:
    notes = [f"{name} could not be asked: {why}" for name, why in failed.items()]
    for look in view.looks:
        if server is None and look.listing is None and look.spec.name not in failed:
            error = never_listed(look)
            notes.append(f"{error.message}. {error.remedy}")
    return notes + [problem for problem in known.catalog.problems if server is None]
