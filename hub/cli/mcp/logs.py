"""``hub mcp logs``: what a server wrote to standard error over its last lives."""

from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.mcp.logs import last_lines, new_lines
from hub.cli.examples import examples
from hub.cli.layout import show
from hub.cli.options import Directory, StrictMcp
from hub.core.outcomes import EXIT_CODES
from hub.core.text import printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp logs git", "hub mcp logs git -n 200", "hub mcp logs git -f"))
def show_logs(
    server: Annotated[str, typer.Argument(help="The server's name.")],
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many lines.", min=0)] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what it writes from now on.")
    ] = False,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
) -> None:
    """Show what a server wrote to standard error."""
    found = last_lines(directory, server, lines, strict_mcp=strict_mcp)
    if not found and not follow:
        show([f"{printable(server)} has written nothing to standard error yet."])
    show(printable(line) for line in found)
    if follow:
        try:
            anyio.run(partial(_follow, directory, server, strict_mcp))
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_CODES["cancelled"]) from None


async def _follow(directory: Path, server: str, strict_mcp: Path | None) -> None:
    async with aclosing(new_lines(directory, server, strict_mcp=strict_mcp)) as coming:
        async for line in coming:
            print(printable(line), flush=True)
