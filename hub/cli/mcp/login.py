"""``hub mcp login``: signs in at a remote server, in the browser."""

import os
import sys
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import anyio.to_thread
import typer

from hub.app.mcp.login import LoggedIn, log_in
from hub.cli.examples import examples
from hub.cli.layout import paragraph, show
from hub.cli.options import Directory, StrictMcp
from hub.core.outcomes import EXIT_CODES
from hub.core.text import one_line, printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=examples(
        "hub mcp login wiki",
        "hub mcp login wiki --no-browser",
        "hub mcp login wiki --scope read --scope write",
    )
)
def log_in_at_server(
    server: Annotated[str, typer.Argument(help="The server's name.")],
    *,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address to sign in at.")
    ] = False,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="What to ask for; may be repeated.", metavar="SCOPE"),
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="How long to wait for you.", metavar="SECONDS", min=1)
    ] = 300.0,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
) -> None:
    """Sign in at a remote server, in the browser."""
    work = partial(
        log_in,
        directory,
        server,
        show=partial(_lead, opens=not no_browser and _has_browser()),
        limit=timeout,
        scopes=scope or (),
        strict_mcp=strict_mcp,
    )
    try:
        found = anyio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_CODES["cancelled"]) from None
    show(paragraph(_words(found)))


async def _lead(address: str, *, opens: bool) -> None:
    """Take the user to the page of the provider."""
    if opens:
        show(paragraph("Sign in in your browser. If none opens, open this address yourself:"))
    else:
        show(paragraph("Open this address in a browser on this machine, and sign in:"))
    typer.echo(printable(address))
    if opens:
        await anyio.to_thread.run_sync(webbrowser.open, address, abandon_on_cancel=True)


def _has_browser() -> bool:
    """Say whether a browser with windows may be there; one in the terminal would take it over."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _words(found: LoggedIn) -> str:
    who = f" through {one_line(found.issuer)}" if found.issuer else ""
    scope = f" Granted: {one_line(found.scope, 200)}." if found.scope else ""
    kept = "the keyring" if found.kept == "keyring" else "a private file of the state folder"
    ends = "" if found.renewable else " It cannot be renewed: sign in again when it has run out."
    return f"Signed in at {found.server}{who}.{scope} The token is kept in {kept}.{ends}"
