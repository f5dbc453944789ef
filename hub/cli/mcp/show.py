"""``hub mcp show``: a server with all that it offers, or one tool as models see it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hub.app.mcp.explanation import Explanation, Shown, explain_tool, show_server
from hub.cli.examples import examples
from hub.cli.layout import columns, facts, painted, paragraph, show, width
from hub.cli.mcp.words import place
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=examples("hub mcp show git", "hub mcp show git/git_log", "hub mcp show git --json")
)
def show_one(
    name: Annotated[str, typer.Argument(help="A server, or SERVER/TOOL.", metavar="SERVER[/TOOL]")],
    *,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
    as_json: AsJson = False,
) -> None:
    """Show a server with everything that it offers, or one tool with its whole schema."""
    if "/" in name:
        tool = explain_tool(directory, name, strict_mcp=strict_mcp)
        show([json_line(tool.as_dict()).rstrip()] if as_json else _tool(tool))
        return
    server = show_server(directory, name, strict_mcp=strict_mcp)
    show([json_line(server.as_dict()).rstrip()] if as_json else _server(server))


def _server(found: Shown) -> Iterator[str]:
    look, listing = found.look, found.listing
    yield from facts([
        ("name", look.spec.name),
        ("state", look.words),
        ("origin", place(look.spec.origin, Path.cwd())),
        ("protocol", f"MCP {listing.protocol}"),
        ("version", listing.version),
    ])
    held = look.pinned.quarantine
    instructions = listing.instructions
    if held.instructions:
        instructions = f"(held back: {held.instructions})"
    if instructions:
        yield from ("", painted("instructions", "bold"), *paragraph(instructions, indent="  "))
    yield from _part("tools", [_row(one.explained.tool, one.explained.withheld or one.mark,
                                    one.explained.description) for one in found.tools])  # fmt: skip
    yield from _part("prompts", [_row(one.name, held.prompts.get(one.name, ""), one.description)
                                 for one in listing.prompts])  # fmt: skip
    yield from _part("resources", [_row(one.uri, held.resources.get(one.uri, ""),
                                        one.description or one.title or one.name)
                                   for one in listing.resources])  # fmt: skip
    if listing.warnings:
        yield from ("", painted("warnings", "bold"))
        for warning in listing.warnings:
            yield from paragraph(warning, indent="  ")


def _row(name: str, mark: str, text: str) -> tuple[str, str, str]:
    return (name, mark or "-", text.strip().partition("\n")[0])


def _part(title: str, rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield from ("", painted(f"{title} ({len(rows)})", "bold"))
        for line in columns(rows, limit=width() - 2):
            yield f"  {line}"


def _tool(found: Explanation) -> Iterator[str]:
    tool = found.view.explained
    yield from facts([
        ("name", tool.name),
        ("server", tool.server),
        ("tool", tool.tool),
        ("title", tool.said.title),
        ("mark", found.view.mark),
        ("withheld", tool.withheld),
    ])
    yield from ("", painted("description", "bold"), *paragraph(tool.description, indent="  "))
    for title, schema in (
        (f"arguments, as {tool.profile} models see them", tool.parameters),
        ("results", tool.said.output_schema),
        ("annotations", tool.said.annotations or None),
    ):
        if schema is not None:
            text = json.dumps(schema, indent=2, ensure_ascii=False)
            yield from ("", painted(title, "bold"), *paragraph(text, indent="  "))
