"""``hub mcp test``: checks a server as a conformance run would."""

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.mcp.checks import Check
from hub.app.mcp.target import Target, configured, typed
from hub.app.mcp.trial import try_server
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import Colour, marked, show
from hub.cli.mcp.consent import require_consent
from hub.cli.mcp.progress import Progress
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line
from hub.core.outcomes import EXIT_CODES
from hub.core.text import one_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MARKS: dict[str, tuple[str, Colour]] = {
    "ok": ("✓", "green"),
    "warn": ("!", "yellow"),
    "fail": ("✗", "red"),
    "skip": ("-", "dim"),
}


@app.command(
    epilog=examples(
        "hub mcp test git",
        'hub mcp test --command "uvx mcp-server-time"',
        "hub mcp test --url http://localhost:8000/mcp --json",
    )
)
def check_server(
    server: Annotated[str | None, typer.Argument(help="A server of the settings.")] = None,
    *,
    command: Annotated[str, typer.Option("--command", help="Start this command line.")] = "",
    url: Annotated[str, typer.Option("--url", help="Reach this address.")] = "",
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
    as_json: AsJson = False,
) -> None:
    """Check a server as a conformance run would, and for what model servers would reject."""
    if server is not None and not (command or url):
        target = configured(directory, server, strict_mcp=strict_mcp)
    else:
        target = typed(directory, command="" if server else command, url=url)
    require_consent(target)
    checks: list[Check] = []
    try:
        anyio.run(partial(_run, target, checks, as_json=as_json))
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_CODES["cancelled"]) from None
    counts = Counter(check.state for check in checks)
    if as_json:
        values = {"ok": not counts["fail"], "checks": [check.as_dict() for check in checks]}
        show([json_line(values).rstrip()])
    else:
        bad = f"{plural(counts['warn'], 'warning')}, {plural(counts['fail'], 'failure')}"
        show([f"{counts['ok']} ok, {bad}"])
    raise typer.Exit(1 if counts["fail"] else 0)


async def _run(target: Target, checks: list[Check], *, as_json: bool) -> None:
    progress = Progress(live=sys.stderr.isatty() and not as_json)

    def tell(check: Check) -> None:
        checks.append(check)
        progress.clear()
        if not as_json:
            mark, colour = MARKS[check.state]
            show(marked(mark, colour, f"{check.name}: {one_line(check.message, 2000)}"))
            sys.stdout.flush()

    try:
        await try_server(
            target.spec,
            workspace=target.workspace,
            environ=target.environ,
            tell=tell,
            doing=progress.show,
            state=target.state,
        )
    finally:
        progress.clear()
