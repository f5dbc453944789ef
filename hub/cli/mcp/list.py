"""``hub mcp list``: which servers there are; nothing is started."""

from pathlib import Path

import typer

from hub.app.mcp.looks import Look, View, look_around
from hub.cli.examples import examples
from hub.cli.layout import columns, paragraph, show
from hub.cli.mcp.words import place
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)

HEADER = ("NAME", "STATE", "TRANSPORT", "TOOLS", "ORIGIN", "LAST ERROR")


@app.command(epilog=examples("hub mcp list", "hub mcp list -C ../site --json"))
def list_servers(
    *, directory: Directory = Path(), strict_mcp: StrictMcp = None, as_json: AsJson = False
) -> None:
    """List the servers: state, origin, tools, last error."""
    view = look_around(directory, strict_mcp=strict_mcp)
    if as_json:
        show(json_line(look.as_dict()).rstrip() for look in view.looks)
        return
    show(columns([HEADER, *(_row(look, view) for look in view.looks)]))
    show(_advice(view))


def _row(look: Look, view: View) -> tuple[str, ...]:
    tools = "-" if look.tools is None else str(look.tools)
    origin = place(look.spec.origin, view.setup.loaded.sources.project)
    return (look.spec.name, look.words, look.spec.transport, tools, origin, look.error)


def _advice(view: View) -> list[str]:
    """Say what the user can do about servers that are not what they could be."""
    lines: list[str] = []
    waiting = [look.spec.name for look in view.looks if look.state in ("discovered", "changed")]
    if waiting:
        lines += paragraph(
            f"Not approved: look with hub mcp status {waiting[0]}, then run: "
            f"hub mcp approve {waiting[0]}"
        )
    changed = [look.spec.name for look in view.looks if look.pinned.held_back]
    if changed:
        lines += paragraph(f"Quarantined: see what changed with hub mcp diff {changed[0]}")
    return ["", *lines] if lines else []
