"""All that is known of one server or tool: what it said, what models see, who may use it."""

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from hub.app.mcp.catalog import Known, never_listed
from hub.app.mcp.looks import Look, View, look_around
from hub.app.mcp.rights import Right, profile_for, right_of
from hub.app.mcp.tools import ToolView, tool_view
from hub.app.pinned import pin_store
from hub.catalog.items import Item
from hub.core.ports import ServerListing
from hub.pins.visible import visible


class Explanation(Struct, frozen=True):
    """One tool, and everything that has a say about it."""

    view: ToolView
    look: Look
    """Its server."""
    rights: tuple[Right, ...]
    """What each role, or the one that was asked about, may do with it."""
    difference: tuple[str, ...]
    """What models see against what the server said, as lines of a diff; empty for no difference."""
    pinned_at: float = 0.0
    """When what the server says was pinned or accepted last, in seconds since 1970."""

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            **self.view.explained.as_dict(),
            "mark": self.view.mark,
            "rights": [right.as_dict() for right in self.rights],
            "difference": list(self.difference),
            "pinned_at": self.pinned_at,
            "server_state": self.look.state,
            "server_origin": str(self.look.spec.origin),
            "error": self.look.error,
            "stderr": self.look.record.stderr if self.look.record is not None else "",
        }


class Shown(Struct, frozen=True):
    """One server with what it offers."""

    look: Look
    listing: ServerListing
    tools: tuple[ToolView, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            **self.look.as_dict(),
            "version": self.listing.version,
            "instructions": self.listing.instructions,
            "offered": [tool.as_dict() for tool in self.tools],
            "prompts": to_builtins(self.listing.prompts),
            "resources": to_builtins(self.listing.resources),
            "warnings": list(self.listing.warnings),
        }


def explain_tool(
    workspace: Path,
    name: str,
    *,
    role: str | None = None,
    model: str = "",
    strict_mcp: Path | None = None,
) -> Explanation:
    """Explain a tool, named as models see it, by another name of it, or as ``server/tool``.

    Raises:
        UsageError: there is no such tool, role or model.
    """
    view = look_around(workspace, strict_mcp=strict_mcp)
    known = Known(view)
    item = known.find(name)
    book = view.setup.book
    who = None if role is None else book.get(role)
    found = tool_view(known, item, profile_for(view.setup, model=model, role=who), who)
    roles = [who] if who is not None else list(book.roles.values())
    return Explanation(
        view=found,
        look=view.find(item.server.name),
        rights=tuple(right_of(view.setup, one, known, item) for one in roles),
        difference=tuple(_difference(found)),
        pinned_at=_pinned_at(view, item),
    )


def show_server(workspace: Path, server: str, *, strict_mcp: Path | None = None) -> Shown:
    """Return a server with all that it offers.

    Raises:
        UsageError: there is no such server, or it was never listed.
    """
    view = look_around(workspace, strict_mcp=strict_mcp)
    look = view.find(server)
    if look.listing is None:
        raise never_listed(look)
    known, profile = Known(view), profile_for(view.setup)
    items = [item for item in known.items() if item.server.name == server]
    return Shown(look, look.listing, tuple(tool_view(known, item, profile) for item in items))


def _pinned_at(view: View, item: Item) -> float:
    try:
        return pin_store(view.setup).path(item.server).stat().st_mtime
    except OSError:
        return 0.0


def _difference(view: ToolView) -> Iterator[str]:
    found = view.explained
    if found.parameters is None:
        return iter(())
    before = _text(found.said.description or found.said.title, found.said.input_schema)
    after = _text(found.description, found.parameters)
    lines = difflib.unified_diff(
        before, after, f"{found.tool} as the server said", f"{found.name} as models see it",
        lineterm="", n=2,
    )  # fmt: skip
    return iter(list(lines))


def _text(description: str, schema: dict[str, Any]) -> list[str]:
    lines = [f"description: {line}" for line in visible(description).split("\n")]
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    return [*lines, *visible(text).split("\n")]
