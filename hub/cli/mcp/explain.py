"""``hub mcp explain``: everything that has a say about one tool."""

from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Annotated

import typer

from hub.app.mcp.explanation import Explanation, explain_tool
from hub.cli.examples import examples
from hub.cli.layout import Colour, columns, facts, painted, paragraph, show, width
from hub.cli.mcp.words import place, when
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line
from hub.core.text import printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_COLOURS: dict[str, Colour] = {"+": "green", "-": "red", "@": "cyan"}


@app.command(
    epilog=examples(
        "hub mcp explain git__git_commit",
        "hub mcp explain git/git_commit --role explorer",
        "hub mcp explain git/git_commit --model gemini-2.5-pro",
    )
)
def explain(
    tool: Annotated[str, typer.Argument(help="The name that models see, or SERVER/TOOL.")],
    *,
    role: Annotated[str | None, typer.Option(help="What this role may do with it.")] = None,
    model: Annotated[str, typer.Option(help="How models behind this one's server see it.")] = "",
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
    as_json: AsJson = False,
) -> None:
    """Say where a tool comes from, what touched it, what models see, and who may use it."""
    found = explain_tool(directory, tool, role=role, model=model, strict_mcp=strict_mcp)
    if as_json:
        show([json_line(found.as_dict()).rstrip()])
        return
    show(_lines(found))


def _lines(found: Explanation) -> Iterator[str]:
    tool, look = found.view.explained, found.look
    told = f"withheld: {tool.withheld}" if tool.withheld else f"offered to {tool.profile} models"
    held = look.pinned.reasons().get(f"tool {tool.tool}", "")
    pinned = when(found.pinned_at, time())
    yield from facts([
        ("name", tool.name),
        ("also", ", ".join(tool.other_names)),
        ("server", f"{look.spec.name} ({look.words})"),
        ("tool", tool.tool),
        ("origin", place(look.spec.origin, Path.cwd())),
        ("state", told),
        ("mark", found.view.mark),
        ("hash", tool.digest),
        ("pinned", pinned),
        ("last change", held or ("none since then" if pinned else "")),
        ("last error", look.error),
    ])
    if look.error and look.record is not None and look.record.stderr.strip():
        yield painted("stderr", "bold")
        yield from paragraph(look.record.stderr.strip(), indent="  ")
    yield from _section("rules", [f"{touch.text} ({touch.origin})" for touch in tool.rules])
    yield from _section(f"changed for {tool.profile} models", list(tool.transforms))
    yield from ("", painted("who may use it", "bold"))
    for line in columns([(right.role, right.words) for right in found.rights], limit=width() - 2):
        yield f"  {line}"
    yield from ("", painted("what models see against what the server said", "bold"))
    if not found.difference:
        yield "  the same"
    for line in found.difference:
        colour = _COLOURS.get(line[:1])
        shown = printable(line)
        yield f"  {painted(shown, colour) if colour else shown}"


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield from ("", painted(title, "bold"))
    for line in lines:
        yield from paragraph(line, indent="  ")
