"""``hub roles check``: what in a team cannot work, looks wrong, or is worth knowing."""

from functools import partial
from pathlib import Path

import anyio
import typer

from hub.app.inspect import load_whole_team
from hub.cli.layout import Colour, marked, paragraph, show
from hub.cli.options import AsJson, Directory, StrictMcp, TeamFolder
from hub.cli.results import json_line
from hub.core.outcomes import EXIT_USAGE

COLOURS: dict[str, Colour] = {"error": "red", "warning": "yellow", "info": "dim"}


def check_roles(
    *,
    directory: Directory = Path(),
    team_folder: TeamFolder = None,
    strict_mcp: StrictMcp = None,
    as_json: AsJson = False,
) -> None:
    """Check the team: dead patterns, missing roles, cycles, unused tools, ways to more rights."""
    team = anyio.run(partial(load_whole_team, directory, team=team_folder, strict_mcp=strict_mcp))
    findings = team.check()
    errors = sum(finding.severity == "error" for finding in findings)
    notes = (*team.book.notes, *team.problems)
    if as_json:
        told = {
            "roles": len(team.book.roles),
            "errors": errors,
            "findings": [finding.as_dict() for finding in findings],
            "notes": list(notes),
        }
        show([json_line(told).rstrip()])
        raise typer.Exit(EXIT_USAGE if errors else 0)
    for finding in findings:
        whose = f"role {finding.role!r}" if finding.role else "settings"
        text = f"{whose}: {finding.message}"
        show(marked(f"{finding.severity}:", COLOURS[finding.severity], text))
        for place in finding.places or (finding.origin,):
            show(paragraph(str(place), indent="  at "))
    for note in notes:
        show(paragraph(f"note: {note}"))
    show([
        f"{len(team.book.roles)} roles, {errors} errors, {len(findings) - errors} other findings"
    ])
    raise typer.Exit(EXIT_USAGE if errors else 0)
