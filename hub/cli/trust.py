"""``hub trust``: look at what a workspace's own files would start or allow, and agree or not."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hub.app.inspect import TrustState, revoke, trust, trust_state
from hub.cli.examples import examples
from hub.cli.layout import paragraph, show
from hub.cli.options import Directory
from hub.core.errors import UsageError
from hub.core.text import printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)

KINDS = {
    "server": "start or reach the server",
    "model": "send conversations to the model",
    "script": "let a script of its own decide in place of a model:",
    "limit": "use more than your own limit of",
    "alias": "give a tool the other name",
    "allow": "run without a question what matches",
    "mode": "run in the mode",
    "role": "let the role have",
}
"""What each kind of part does, before its name."""


@app.command(epilog=examples("hub trust", "hub trust --show", "hub trust --revoke -C ../site"))
def trust_workspace(
    *,
    directory: Directory = Path(),
    show_only: Annotated[
        bool, typer.Option("--show", help="Only show what it asks for, and whether it is trusted.")
    ] = False,
    forget: Annotated[bool, typer.Option("--revoke", help="Trust it no longer.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree without a question.")] = False,
) -> None:
    """Decide whether a workspace's own files may act."""
    state = trust_state(directory)
    if forget:
        was = revoke(state)
        show([f"{printable(str(state.project))} is {'no longer' if was else 'not'} trusted."])
        return
    show(_told(state))
    if show_only or state.trusted or not state.parts:
        return
    if not yes and not _agreed():
        raise typer.Exit(1)
    trust(state)
    show(["Trusted, until one of these changes."])


def _told(state: TrustState) -> list[str]:
    project = printable(str(state.project))
    if not state.parts:
        return [f"{project} asks for nothing that needs trust."]
    lines = [f"{project} is trusted. It may:" if state.trusted else f"{project} wants to:"]
    for part in state.parts:
        lines += paragraph(f"{KINDS[part.kind]} {part.words}", indent="  ")
        lines += paragraph(str(part.origin), indent="    at ")
    return lines


def _agreed() -> bool:
    """Ask the person at the terminal.

    Raises:
        UsageError: there is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "nobody is here to agree, so nothing was changed",
            remedy="Look at the list, then run: hub trust --yes",
        )
    return typer.confirm("Do you trust it?", default=False)
