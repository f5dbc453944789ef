"""``hub mcp list``: which servers there are; nothing is started."""

from pathlib import Path

import typer

from hub.app.mcp.found import found_servers
from hub.cli.examples import examples
from hub.cli.layout import columns, show
from hub.cli.options import Directory

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp list", "hub mcp list -C ../site"))
def list_servers(*, directory: Directory = Path()) -> None:
    """List the servers: state, origin, tools, last error."""
    header = ("NAME", "TRANSPORT", "COMMAND OR ADDRESS", "FROM")
    rows = [
        (
            spec.name,
            spec.transport,
            spec.url or " ".join((spec.command, *spec.args)),
            str(spec.origin),
        )
        for spec in found_servers(directory)
    ]
    show(columns([header, *rows]))
