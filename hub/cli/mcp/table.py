"""``hub mcp``: the table of its commands."""

from collections.abc import Mapping
from types import MappingProxyType

import typer

from hub.cli.examples import examples
from hub.cli.lazy import Entry, LazyGroup

COMMANDS: Mapping[str, Entry] = MappingProxyType({
    "list": Entry(
        "hub.cli.mcp.list", "List the servers: state, origin, tools, last error.", "Look"
    ),
})


class McpGroup(LazyGroup):
    """The commands of ``hub mcp``."""

    table = COMMANDS


app = typer.Typer(cls=McpGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback(epilog=examples("hub mcp list", "hub mcp add time -- uvx mcp-server-time"))
def mcp() -> None:
    """Plug in MCP servers, look at them, approve them."""
