"""``hub doctor``: whether everything that a run needs is in place."""

from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.doctor import examine
from hub.app.findings import Finding
from hub.cli.examples import examples
from hub.cli.layout import Colour, marked, paragraph, show
from hub.cli.options import AsJson, Directory, StrictMcp, TeamFolder
from hub.cli.results import json_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MARKS: dict[str, tuple[str, Colour]] = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "error": ("✗", "red"),
}


@app.command(
    epilog=examples(
        "hub doctor", "hub doctor -C ../site --model gpt-5 --json", "hub doctor --team ../team"
    )
)
def doctor(
    *,
    directory: Directory = Path(),
    team: TeamFolder = None,
    strict_mcp: StrictMcp = None,
    model: Annotated[str | None, typer.Option(help="Look at this model.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check that everything a run needs is in place."""
    findings: list[Finding] = []

    async def look() -> None:
        await examine(directory, model=model, team=team, strict_mcp=strict_mcp, tell=tell)

    def tell(finding: Finding) -> None:
        findings.append(finding)
        if not as_json:
            show(_lines(finding))

    anyio.run(look)
    errors = sum(finding.state == "error" for finding in findings)
    if as_json:
        values = {"ok": not errors, "findings": [finding.as_dict() for finding in findings]}
        show([json_line(values).rstrip()])
    raise typer.Exit(1 if errors else 0)


def _lines(finding: Finding) -> list[str]:
    mark, colour = MARKS[finding.state]
    lines = marked(mark, colour, f"{finding.check}: {finding.message}")
    return lines + (paragraph(finding.remedy, indent="    ") if finding.remedy else [])
