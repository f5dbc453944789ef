"""``hub mcp tools``: what models see of the servers' tools."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hub.app.mcp.tools import ToolList, ToolView, list_tools
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import columns, painted, paragraph, show
from hub.cli.mcp.progress import Progress
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=examples(
        "hub mcp tools", "hub mcp tools git --explain", "hub mcp tools --role explorer --refresh"
    )
)
def tools(
    server: Annotated[str | None, typer.Argument(help="Only the tools of this server.")] = None,
    *,
    role: Annotated[str | None, typer.Option(help="Only what this role may use.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also say which rules and changes touched each.")
    ] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the approved servers anew first.")
    ] = False,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
    as_json: AsJson = False,
) -> None:
    """List the tools as models see them, and those that are withheld."""
    progress = Progress(live=refresh and sys.stderr.isatty())
    progress.show(f"asking {server or 'the approved servers'}")
    try:
        found = list_tools(directory, server, role=role, renew=refresh, strict_mcp=strict_mcp)
    finally:
        progress.clear()
    if as_json:
        show(json_line(tool.as_dict()).rstrip() for tool in found.tools)
        return
    show(_lines(found, explain=explain))


def _lines(found: ToolList, *, explain: bool) -> Iterator[str]:
    offered = [tool for tool in found.tools if tool.offered]
    withheld = [tool for tool in found.tools if tool.explained.withheld]
    rows = columns([_header(found.tools), *(_row(tool) for tool in offered)])
    yield rows[0]
    for tool, row in zip(offered, rows[1:], strict=True):
        yield row
        if explain:
            yield from _explained(tool)
    if withheld:
        yield from ("", painted("WITHHELD", "yellow"))
        for tool in withheld:
            yield from paragraph(f"{tool.explained.name}: {tool.explained.withheld}", indent="  ")
            if explain:
                yield from _explained(tool)
    others = len(found.tools) - len(offered) - len(withheld)
    if others:
        more = plural(others, "more tool")
        yield from ("", f"{more} {'is' if others == 1 else 'are'} not among the role's.")
    yield from ([""] if found.notes else [])
    for note in found.notes:
        yield from paragraph(f"note: {note}")


def _header(tools: Sequence[ToolView]) -> tuple[str, ...]:
    if tools and tools[0].right is not None:
        return ("NAME", "MARK", "PERMISSION", "DESCRIPTION")
    return ("NAME", "MARK", "DESCRIPTION")


def _row(tool: ToolView) -> tuple[str, ...]:
    first = tool.explained.description.strip().partition("\n")[0]
    if tool.right is not None:
        return (tool.explained.name, tool.mark, tool.right.ruling.effect, first)
    return (tool.explained.name, tool.mark, first)


def _explained(tool: ToolView) -> Iterator[str]:
    found = tool.explained
    yield from paragraph(f"{found.server}/{found.tool}, {found.digest[:12]}", indent="    ")
    for touch in found.rules:
        yield from paragraph(f"{touch.text} ({touch.origin})", indent="    ")
    for change in found.transforms:
        yield from paragraph(f"for {found.profile} models: {change}", indent="    ")
    if tool.right is not None:
        yield from paragraph(f"{tool.right.role}: {tool.right.words}", indent="    ")
