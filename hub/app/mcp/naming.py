"""Servers by the name that a user typed."""

from collections.abc import Sequence
from difflib import get_close_matches

from hub.core.errors import UsageError


def unknown_server(server: str, known: Sequence[str]) -> UsageError:
    """Return the error for a name that no server has, with the nearest one."""
    near = get_close_matches(server, known, n=1)
    advice = f"Did you mean {near[0]!r}? " if near else ""
    return UsageError(
        f"there is no MCP server {server!r}", remedy=f"{advice}hub mcp list shows them all."
    )
