"""``hub mcp diff``: what servers say of themselves now against what was approved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.mcp.compare import Comparison, compare_servers, open_bench
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import marked, paragraph, show
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp diff", "hub mcp diff git --text", "hub mcp diff --json"))
def diff(
    server: Annotated[str | None, typer.Argument(help="Only this server.")] = None,
    *,
    text: Annotated[bool, typer.Option("--text", help="Show the texts side by side.")] = False,
    as_json: AsJson = False,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
) -> None:
    """Compare servers with what was approved; exit 1 when something differs.

    Starts the approved servers. A server that cannot be reached counts as a difference; one that
    is not approved is not started, and counts when it is named or was approved before.
    """
    bench = open_bench(directory, strict_mcp=strict_mcp)
    found = anyio.run(compare_servers, bench, [server] if server else [])
    for compared in found:
        if as_json:
            show([json_line(compared.as_dict()).rstrip()])
        else:
            show(_lines(compared, text=text))
    if any(_counts(compared, named=server is not None) for compared in found):
        raise typer.Exit(1)


def _counts(found: Comparison, *, named: bool) -> bool:
    if not found.approved:
        return named or bool(found.launch)
    return bool(found.error) or found.differs


def _lines(found: Comparison, *, text: bool) -> Iterator[str]:
    name = found.spec.name
    if not found.approved:
        yield from marked("?", "yellow", f"{name}: {found.approval}; it was not started")
        for line in found.launch:
            yield from paragraph(line, indent="    ")
    elif found.error:
        yield from marked("✗", "red", found.error)
    elif not found.pinned and not found.lock_changes:
        tools = plural(len(found.now.tools), "tool")
        yield from marked("?", "yellow", f"{name}: {tools}, nothing pinned yet")
    elif not found.differs:
        yield from marked("✓", "green", f"{name}: as approved")
    else:
        yield from marked("!", "yellow", f"{name}: not as approved")
        for line in found.lines(text=text):
            yield from paragraph(line, indent="    ")
