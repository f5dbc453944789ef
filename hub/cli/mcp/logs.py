"""``hub mcp logs``: what a server wrote to standard error over its last lives."""

import sys
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.mcp.logs import Log, new_lines, read_log
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
    log = read_log(directory, server, lines, strict_mcp=strict_mcp)
    if not log.lines and not follow:
        show([f"{printable(server)} has written nothing to standard error yet."])
    show(printable(line) for line in log.lines)
    if follow:
        sys.stdout.flush()
        try:
            anyio.run(_follow, log)
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_CODES["cancelled"]) from None


async def _follow(log: Log) -> None:
    async with aclosing(new_lines(log)) as coming:
        async for line in coming:
            print(printable(line), flush=True)
