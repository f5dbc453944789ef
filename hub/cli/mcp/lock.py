"""``hub mcp lock``: write down for everybody what a project's servers have to be, or check it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.mcp.compare import open_bench
from hub.app.mcp.lock import LockReport, check, write
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import marked, paragraph, show
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp lock", "hub mcp lock git", "hub mcp lock --check"))
def lock(
    servers: Annotated[
        list[str] | None, typer.Argument(metavar="[SERVER]...", help="Only these servers.")
    ] = None,
    *,
    check_only: Annotated[
        bool, typer.Option("--check", help="Compare with hub.lock and write nothing.")
    ] = False,
    as_json: AsJson = False,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
) -> None:
    """Write hub.lock from what is live and approved, or check it.

    Exit codes: 0 all is as hub.lock says; 1 a server differs; 3 a server is not approved; 4 a
    server is not locked; 5 a server could not be reached. The first of 3, 5, 4, 1 is taken.
    Nothing is written unless every server can be locked.
    """
    bench = open_bench(directory, rewrite=not check_only, strict_mcp=strict_mcp)
    report = anyio.run(check if check_only else write, bench, servers or [])
    show([json_line(report.as_dict()).rstrip()] if as_json else _lines(report))
    if report.code:
        raise typer.Exit(report.code)


def _lines(report: LockReport) -> Iterator[str]:
    for finding in report.findings:
        if finding.lines:
            yield from marked("✗", "red", f"{finding.server}: {finding.lines[0]}")
            for line in finding.lines[1:]:
                yield from paragraph(line, indent="    ")
        else:
            yield from marked("✓", "green", finding.server)
        for warning in finding.warnings:
            yield from marked("!", "yellow", f"{finding.server}: {warning}")
    servers = plural(len(report.findings), "server")
    if report.written:
        words = "written" if report.changed else "unchanged"
        yield from paragraph(f"{report.path} is {words}: {servers}")
    elif not report.code:
        yield from paragraph(f"{report.path} agrees: {servers}")
