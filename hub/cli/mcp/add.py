"""``hub mcp add``: write a server into the settings."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hub.app.mcp.adding import Told, entry_of, literal_secrets
from hub.app.mcp.settings_file import Scope, add_server
from hub.app.setup import find_sources
from hub.cli.examples import examples
from hub.cli.layout import marked, paragraph, show
from hub.cli.mcp.words import place
from hub.cli.options import Directory
from hub.core.team import Origin

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=examples(
        "hub mcp add time -- uvx mcp-server-time",
        "hub mcp add docs --url https://mcp.example.com/mcp "
        "--header 'Authorization: Bearer ${env:DOCS_TOKEN}'",
        "hub mcp add tickets --env TICKETS_TOKEN --scope project -- npx -y tickets-mcp",
    )
)
def add(
    name: Annotated[str, typer.Argument(help="Its name; the first half of its tools' names.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND ARGS...]", help="What starts it."),
    ] = None,
    *,
    url: Annotated[str | None, typer.Option(help="Where it is reached.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", help="A variable for it; a name alone hands yours on.", metavar="NAME[=VALUE]"
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="A header of each request.", metavar="NAME:VALUE"),
    ] = None,
    transport: Annotated[
        Literal["stdio", "http", "sse"] | None, typer.Option(help="How it speaks.")
    ] = None,
    scope: Annotated[Scope, typer.Option(help="Whose settings get it.")] = "user",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a server of the same name.")
    ] = False,
    directory: Directory = Path(),
) -> None:
    """Write a server into the settings."""
    entry = entry_of(Told(url, command or (), env or (), header or (), transport))
    secrets = literal_secrets(entry, scope)
    sources = find_sources(directory)
    added = add_server(sources, name, entry, scope=scope, replace=replace)
    where = place(Origin(scope, str(added.path)), sources.project)
    verb = "Replaced" if added.replaced else "Added"
    show(paragraph(f"{verb} the server {added.name} in {where}."))
    for key in secrets:
        words = f"{key} is written out there; a reference such as ${{env:NAME}} would keep it out"
        show(marked("!", "yellow", words))
    if added.needs_approval:
        show(paragraph(f"It needs your approval before it starts: hub mcp approve {added.name}"))
