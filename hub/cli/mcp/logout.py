"""``hub mcp logout``: forgets the sign-in at a remote server."""

from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.mcp.login import log_out
from hub.cli.examples import examples
from hub.cli.layout import paragraph, show
from hub.cli.options import Directory, StrictMcp

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp logout wiki"))
def log_out_of_server(
    server: Annotated[str, typer.Argument(help="The server's name.")],
    *,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
) -> None:
    """Forget the sign-in at a remote server."""
    there = anyio.run(partial(log_out, directory, server, strict_mcp=strict_mcp))
    if there:
        show(paragraph(f"Forgot the sign-in at {server}. The provider was not told."))
    else:
        show(paragraph(f"There is no sign-in at {server}."))
