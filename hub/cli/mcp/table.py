"""``hub mcp``: the table of its commands."""

from collections.abc import Mapping
from types import MappingProxyType

import typer

from hub.cli.examples import examples
from hub.cli.lazy import Entry, LazyGroup

COMMANDS: Mapping[str, Entry] = MappingProxyType({
    "add": Entry("hub.cli.mcp.add", "Write a server into the settings.", "Set up"),
    "import": Entry(
        "hub.cli.mcp.import_servers",
        "Copy servers from other clients; without a source, list what there is.",
        "Set up",
    ),
    "remove": Entry("hub.cli.mcp.remove", "Take a server out of the settings.", "Set up"),
    "list": Entry(
        "hub.cli.mcp.list", "List the servers: state, origin, tools, last error.", "Look"
    ),
    "status": Entry(
        "hub.cli.mcp.status",
        "Show what is known of servers: launch, approval, last life, pins.",
        "Look",
    ),
    "tools": Entry(
        "hub.cli.mcp.tools",
        "List the tools as models see them, and those that are withheld.",
        "Look",
    ),
    "show": Entry(
        "hub.cli.mcp.show",
        "Show a server with everything that it offers, or one tool with its whole schema.",
        "Look",
    ),
    "explain": Entry(
        "hub.cli.mcp.explain",
        "Say where a tool comes from, what touched it, what models see, and who may use it.",
        "Look",
    ),
    "logs": Entry("hub.cli.mcp.logs", "Show what a server wrote to standard error.", "Look"),
    "test": Entry(
        "hub.cli.mcp.trial",
        "Check a server as a conformance run would, and for what model servers would reject.",
        "Try",
    ),
    "call": Entry("hub.cli.mcp.call", "Call one tool and print what it says.", "Try"),
    "restart": Entry(
        "hub.cli.mcp.restart",
        "Ask running hubs to start a server anew, and to forget its crash loop.",
        "Try",
    ),
    "login": Entry("hub.cli.mcp.login", "Sign in at a remote server, in the browser.", "Trust"),
    "logout": Entry("hub.cli.mcp.logout", "Forget the sign-in at a remote server.", "Trust"),
    "approve": Entry("hub.cli.mcp.approve", "Approve a server, or what changed about it.", "Trust"),
    "diff": Entry(
        "hub.cli.mcp.diff",
        "Compare servers with what was approved; exit 1 when something differs.",
        "Trust",
    ),
    "lock": Entry(
        "hub.cli.mcp.lock", "Write hub.lock from what is live and approved, or check it.", "Trust"
    ),
})


class McpGroup(LazyGroup):
    """The commands of ``hub mcp``."""

    table = COMMANDS


app = typer.Typer(cls=McpGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback(epilog=examples("hub mcp list", "hub mcp add time -- uvx mcp-server-time"))
def mcp() -> None:
    """Plug in MCP servers, look at them, approve them."""
