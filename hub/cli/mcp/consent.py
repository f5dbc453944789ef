"""Asks the person at the terminal before something is started that is not approved."""

import sys

import typer

from hub.app.mcp.target import Target
from hub.cli.layout import paragraph, show


def require_consent(target: Target) -> None:
    """Return when a server may be started now: it is approved, or somebody at the terminal agrees.

    Raises:
        UsageError: it is not approved and nobody is here to agree.
        Exit: the person said no.
    """
    if target.approved:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise target.refusal()
    show(paragraph(f"{target.spec.name} is not approved. It would start or reach:"))
    show(paragraph(target.words, indent="  "))
    if not typer.confirm("Start it this once?", default=False):
        raise typer.Exit(1)
