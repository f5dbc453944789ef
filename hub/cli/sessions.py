"""``hub sessions``: what earlier runs did."""

from pathlib import Path
from typing import Annotated

import typer

from hub.app.inspect import list_sessions, load_transcript
from hub.cli.examples import examples
from hub.cli.figures import short_count
from hub.cli.layout import columns, show
from hub.cli.options import AsJson
from hub.cli.results import json_line
from hub.cli.transcript import moment, transcript

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback(epilog=examples("hub sessions list", "hub sessions show s-01k3"))
def sessions() -> None:
    """Look at what earlier runs did."""


@app.command("list", epilog=examples("hub sessions list", "hub sessions list -C . --limit 5"))
def list_stored(
    *,
    directory: Annotated[
        Path | None, typer.Option("-C", "--dir", help="Only runs on this folder.", metavar="DIR")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, latest first.")] = 20,
    children: Annotated[
        bool, typer.Option("--children", help="Also list the sessions of dispatched agents.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List stored sessions, the latest first."""
    found = list_sessions(limit, workspace=directory, roots_only=not children)
    if as_json:
        show(json_line(info.as_dict()).rstrip() for info in found)
        return
    header = ("SESSION", "LAST USED", "ROLE", "OUTCOME", "TURNS", "TOKENS", "TASK")
    rows = [
        (
            info.id,
            moment(info.updated),
            info.role,
            info.outcome or "not ended",
            str(info.turns),
            short_count(info.tree_tokens),
            info.title,
        )
        for info in found
    ]
    show(columns([header, *rows]) if rows else ["No session is stored yet."])


@app.command("show", epilog=examples("hub sessions show s-01k3", "hub sessions show s-01k3 --json"))
def show_stored(
    session: Annotated[str, typer.Argument(help="The session's id, or its beginning.")],
    *,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a session as a transcript, with those of dispatched agents inside."""
    found = load_transcript(session)
    show([json_line(found.as_dict()).rstrip()] if as_json else transcript(found, full=full))
