"""``hub mcp remove``: take a server out of the settings."""

from pathlib import Path
from typing import Annotated

import typer

from hub.app.mcp.settings_file import Scope, remove
from hub.app.setup import find_sources
from hub.cli.examples import examples
from hub.cli.layout import paragraph, show
from hub.cli.mcp.words import place
from hub.cli.options import Directory
from hub.core.team import Origin

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp remove time", "hub mcp remove tickets --scope project"))
def remove_server(
    name: Annotated[str, typer.Argument(help="The server's name.")],
    *,
    scope: Annotated[
        Scope | None, typer.Option(help="Whose settings, where several have it.")
    ] = None,
    directory: Directory = Path(),
) -> None:
    """Take a server out of the settings."""
    sources = find_sources(directory)
    removed = remove(sources, name, scope=scope)
    where = place(Origin("", str(removed.path)), sources.project)
    show(paragraph(f"Removed the server {removed.name} from {where}."))
    if removed.still:
        show(paragraph(f"There still is a server of this name, from {removed.still}."))
