"""``hub mcp import``: copy servers from the files of other clients into our settings."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hub.app.mcp.importing import (
    KNOWN,
    Choices,
    Plan,
    Planned,
    Source,
    carry_out,
    plan_import,
    sources_here,
)
from hub.app.mcp.literals import Hidden, Keep
from hub.app.mcp.settings_file import Scope
from hub.app.setup import find_sources
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import Colour, columns, marked, painted, paragraph, show
from hub.cli.mcp.words import place
from hub.cli.options import AsJson, Directory
from hub.cli.results import json_line
from hub.core.errors import UsageError
from hub.core.team import Origin

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MARKS: dict[str, tuple[str, Colour]] = {
    "add": ("+", "green"),
    "replace": ("~", "yellow"),
    "same": ("=", "dim"),
    "clash": ("!", "yellow"),
    "unusable": ("✗", "red"),
}
"""What stands before a server, by what becomes of it."""


@app.command(
    epilog=examples(
        "hub mcp import",
        "hub mcp import cursor --dry-run",
        "hub mcp import claude-desktop --yes",
        "hub mcp import ./mcp.json --scope project",
    )
)
def import_servers(
    source: Annotated[
        str | None, typer.Argument(metavar="[SOURCE|PATH]", help="A client, or a file.")
    ] = None,
    *,
    scope: Annotated[Scope, typer.Option(help="Whose settings get them.")] = "user",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be written.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace servers of the same name.")
    ] = False,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Put secrets into the system's keyring.")
    ] = False,
    keep_secrets: Annotated[
        bool, typer.Option("--keep-secrets", help="Copy secrets as they are.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write without a question.")] = False,
    directory: Directory = Path(),
    as_json: AsJson = False,
) -> None:
    """Copy servers from other clients; without a source, list what there is."""
    sources = find_sources(directory)
    if source is None:
        found = sources_here(sources)
        if as_json:
            show(json_line(one.as_dict()).rstrip() for one in found)
        else:
            show(_listed(found, sources.project))
        return
    choices = Choices(scope, _keep(keyring=keyring, keep_secrets=keep_secrets), replace)
    plan = plan_import(sources, source, choices)
    writes = bool(plan.writes) and not dry_run and (yes or not as_json)
    if not as_json:
        show(_told(plan, sources.project))
        writes = writes and (yes or _agreed(plan))
    if writes:
        carry_out(plan)
    if as_json:
        show([json_line({**plan.as_dict(), "written": writes}).rstrip()])
    else:
        show(_after(plan, writes=writes))
    if plan.refused:
        raise typer.Exit(1)


def _keep(*, keyring: bool, keep_secrets: bool) -> Keep:
    if keyring and keep_secrets:
        raise UsageError("--keyring and --keep-secrets say different things; give one of them")
    if keyring:
        return "keyring"
    return "keep" if keep_secrets else "env"


def _listed(found: list[Source], project: Path) -> list[str]:
    if not found:
        return paragraph(
            f"No other client keeps servers on this machine. Known are: {', '.join(KNOWN)}. "
            "A file can be named as well: hub mcp import PATH."
        )
    rows = [
        (
            one.client,
            "-" if one.problem else str(len(one.servers)),
            place(Origin(one.client, str(one.path)), project),
            one.problem or _summary(one),
        )
        for one in found
    ]
    lines = columns([("SOURCE", "SERVERS", "FILE", "WHICH"), *rows])
    names = ", ".join(dict.fromkeys(one.client for one in found))
    return [
        *lines,
        "",
        *paragraph("Copy from one with: hub mcp import SOURCE"),
        *paragraph(f"Or use them as they are, at each run: servers_from: [{names}]"),
    ]


def _summary(source: Source) -> str:
    left_out = f"({source.left_out} left out)" if source.left_out else ""
    return " ".join(filter(None, (", ".join(source.servers), left_out))) or "none"


def _told(plan: Plan, project: Path) -> list[str]:
    target = place(Origin("", str(plan.target)), project)
    lines = paragraph(f"Into {target}:" if plan.writes else f"Nothing to write into {target}:")
    for one in plan.servers:
        mark, colour = MARKS[one.state]
        words = f": {one.why}" if one.why else ""
        lines += marked(mark, colour, f"{one.name} (from {place(one.origin, project)}){words}")
        if one in plan.writes:
            lines += [line for text in one.lines for line in paragraph(text, indent="  ")]
            lines += _secrets(plan, one)
    for notice in plan.notices:
        lines += marked("!", "yellow", notice)
    return lines


def _secrets(plan: Plan, one: Planned) -> list[str]:
    lines: list[str] = []
    for hidden in one.hidden:
        lines += paragraph(_about(plan, hidden), indent="    ")
    if plan.keep == "keep" and "***" in "".join(one.lines):
        lines += marked("!", "yellow", "*** are secrets, which are copied as they stand")
    return lines


def _about(plan: Plan, hidden: Hidden) -> str:
    if plan.keep == "keyring":
        return f"{hidden.key} goes into the keyring, as {hidden.name}"
    return f"{hidden.key} is a secret and is not copied; set it with: export {hidden.name}=…"


def _agreed(plan: Plan) -> bool:
    """Ask the person at the terminal.

    Raises:
        UsageError: there is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "nobody is here to agree, so nothing was written",
            remedy="Look at the list, then run it again with --yes.",
        )
    return typer.confirm(f"Write {plural(len(plan.writes), 'server')}?", default=False)


def _after(plan: Plan, *, writes: bool) -> list[str]:
    lines: list[str] = []
    if any(one.state == "clash" for one in plan.servers):
        lines += paragraph("What is there already stays; --replace would replace it.")
    if not writes:
        return [*lines, painted("Nothing was written.", "bold")]
    names = [one.name for one in plan.writes]
    lines += paragraph(f"Wrote {plural(len(names), 'server')}: {', '.join(names)}.")
    if plan.scope != "user":
        lines += paragraph(f"They need your approval: hub mcp approve {names[0]}")
    return lines
