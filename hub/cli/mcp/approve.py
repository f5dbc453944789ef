"""``hub mcp approve``: agree to what a server starts, and to what it says of itself."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.mcp.approve import (
    Candidate,
    ToolLine,
    approve_launch,
    candidate,
    chosen,
    lines_of,
    look,
    pin,
    tool_lines,
)
from hub.app.mcp.compare import Bench, Comparison, open_bench
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import columns, facts, marked, painted, paragraph, show
from hub.cli.options import Directory, StrictMcp
from hub.core.errors import UsageError
from hub.core.text import one_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=examples(
        "hub mcp approve git", "hub mcp approve git/commit", "hub mcp approve git --yes"
    )
)
def approve(
    target: Annotated[
        str, typer.Argument(metavar="SERVER[/TOOL]", help="A server, or one tool of it.")
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Agree without a question.")] = False,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
) -> None:
    """Approve a server, or what changed about it."""
    bench = open_bench(directory, strict_mcp=strict_mcp)
    found = candidate(bench, target)
    if not found.standing.approved:
        show(_launch(found))
        _ask(f"Start {found.spec.name} from now on?", target, yes=yes)
        approve_launch(bench, found)
        bench = open_bench(directory, strict_mcp=strict_mcp)
        found = candidate(bench, target)
    compared = anyio.run(look, bench, found)
    if compared.error:
        show(marked("✗", "red", f"{found.spec.name} is approved, but: {compared.error}"))
        raise typer.Exit(1)
    _settle(bench, compared, found, target, yes=yes)


def _settle(
    bench: Bench, compared: Comparison, found: Candidate, target: str, *, yes: bool
) -> None:
    """Pin a server that is new, or ask about what changed."""
    name = found.spec.name
    changes = chosen(compared, found.part)
    if not compared.pinned:
        pin(bench, compared, [])
        show(_tools(tool_lines(compared.now)))
        show([f"{name} is approved and pinned: {_parts(compared)}."])
    elif changes:
        show([f"{name} is not as it was approved:"])
        for line in lines_of(changes):
            show(paragraph(line, indent="  "))
        _ask("Accept this?", target, yes=yes)
        pin(bench, compared, changes)
        show([f"Accepted: {plural(len(changes), 'change')}."])
    else:
        show([f"{target} is as it was approved."])
    if compared.lock_changes:
        show(marked("!", "yellow", "hub.lock says otherwise, so this is still held back:"))
        for line in lines_of(compared.lock_changes):
            show(paragraph(line, indent="  "))
        show([f"Accept it for the project with: hub mcp lock {name}"])


def _launch(found: Candidate) -> list[str]:
    verb = "reach" if found.spec.url else "start"
    lines = [f"{one_line(found.spec.name)} is not approved. It would {verb}:"]
    lines += [f"  {line}" for line in facts(found.facts)]
    for warning in found.warnings:
        lines += marked("!", "yellow", warning)
    return lines


def _tools(lines: list[ToolLine]) -> list[str]:
    rows = [(f"  {line.name}", line.mark, one_line(line.description, 200)) for line in lines]
    shown = [
        painted(text, "yellow") if line.mark == "destructive" else text
        for text, line in zip(columns(rows), lines, strict=True)
    ]
    for line in lines:
        if line.hidden:
            words = f"{line.name} holds hidden characters ({line.hidden})"
            shown += marked("!", "yellow", words)
    return shown


def _parts(compared: Comparison) -> str:
    now = compared.now
    parts = [plural(len(now.tools), "tool")]
    parts += [plural(len(now.prompts), "prompt")] if now.prompts else []
    parts += [plural(len(now.templates), "resource template")] if now.templates else []
    return ", ".join(parts + (["instructions"] if now.instructions else []))


def _ask(question: str, target: str, *, yes: bool) -> None:
    """Go on only when the person at the terminal agrees.

    Raises:
        UsageError: there is nobody to ask.
        Exit: the person does not agree.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "nobody is here to agree, so nothing was changed",
            remedy=f"Look at it, then run: hub mcp approve {one_line(target)} --yes",
        )
    if not typer.confirm(question, default=False):
        raise typer.Exit(1)
