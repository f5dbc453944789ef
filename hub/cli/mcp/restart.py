"""``hub mcp restart``: asks running hubs to start a server anew."""

from pathlib import Path
from typing import Annotated

import typer

from hub.app.mcp.logs import Restart, ask_restart
from hub.cli.examples import examples
from hub.cli.layout import paragraph, show
from hub.cli.options import Directory, StrictMcp

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp restart git"))
def restart_server(
    server: Annotated[str, typer.Argument(help="The server's name.")],
    *,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
) -> None:
    """Ask running hubs to start a server anew, and to forget its crash loop."""
    show(paragraph(_words(ask_restart(directory, server, strict_mcp=strict_mcp))))


def _words(asked: Restart) -> str:
    look = asked.look
    name = look.spec.name
    if look.state == "disabled":
        return f"{name} is switched off, so nothing starts it. Left a request all the same."
    if look.state in ("discovered", "changed"):
        return f"{name} is not approved, so nothing starts it; see: hub mcp approve {name}"
    if asked.running:
        pid = look.record.pid if look.record is not None else 0
        return (
            f"Asked for a restart of {name}. Every hub that runs it (the last one seen is process "
            f"{pid}) ends it within two seconds, or with its next call, and starts it anew; calls "
            "under way are lost."
        )
    if look.state == "crash-loop":
        return f"{name} is out of its crash loop: the next call starts it at once."
    return f"No hub runs {name} now. The next run starts it anew by itself."
