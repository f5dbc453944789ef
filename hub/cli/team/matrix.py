"""``hub roles matrix``: who may dispatch to whom and use what, as a table or as a picture."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.drawing import team_mermaid, team_svg
from hub.app.inspect import Team, load_whole_team
from hub.cli.layout import columns, paragraph, show
from hub.cli.options import AsJson, Directory, StrictMcp, TeamFolder
from hub.cli.results import json_line
from hub.core.errors import UsageError
from hub.core.team import Edge


def show_matrix(
    *,
    directory: Directory = Path(),
    team_folder: TeamFolder = None,
    strict_mcp: StrictMcp = None,
    svg: Annotated[
        str | None,
        typer.Option("--svg", help="Write a picture to this file; - is stdout.", metavar="FILE"),
    ] = None,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a flowchart for Mermaid instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draw who may dispatch to whom, under which bounds, and who may use which tool."""
    if (svg is not None) + mermaid + as_json > 1:
        raise UsageError("one picture at a time", remedy="Give --svg, --mermaid or --json alone.")
    team = anyio.run(partial(load_whole_team, directory, team=team_folder, strict_mcp=strict_mcp))
    if svg is not None:
        _write(svg, team_svg(team))
    elif mermaid:
        sys.stdout.write(team_mermaid(team))
    elif as_json:
        show([json_line(_values(team)).rstrip()])
    else:
        _tables(team)


def _write(name: str, picture: str) -> None:
    if name == "-":
        sys.stdout.write(picture)
        return
    path = Path(name)
    try:
        path.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", remedy="Give another file with --svg."
        ) from error
    show(paragraph(f"written: {path}"))


def _tables(team: Team) -> None:
    matrix = team.matrix()
    dispatching = [
        (name, *(_edge(matrix.edges[name].get(target)) for target in matrix.roles), "")
        for name in matrix.roles
    ]
    show(columns([("FROM \\ TO", *matrix.roles, ""), *dispatching]))
    show(["", "A number is how many children run at once over that edge.", ""])
    using = [
        (tool, *("x" if tool in matrix.grants[name] else "." for name in matrix.roles), "")
        for tool in matrix.tools
    ]
    show(columns([("TOOL \\ ROLE", *matrix.roles, ""), *using]))
    for problem in team.problems:
        show(paragraph(f"note: {problem}"))


def _values(team: Team) -> dict[str, object]:
    matrix = team.matrix()
    return {
        "roles": [
            {
                "name": role.name,
                "user_facing": role.user_facing,
                "file": role.origin.path,
                "line": role.origin.line,
                "tools": [name for name in matrix.tools if name in matrix.grants[role.name]],
                "dispatch": [_bounds(edge) for edge in role.dispatch],
            }
            for role in team.ordered()
        ],
        "tools": list(matrix.tools),
        "notes": list(team.problems),
    }


def _bounds(edge: Edge) -> dict[str, object]:
    return {
        "role": edge.role,
        "max_parallel": edge.max_parallel,
        "tools": list(edge.tools),
        "tokens": edge.tokens,
        "usd": edge.usd,
        "isolated": edge.isolated,
    }


def _edge(edge: Edge | None) -> str:
    return "." if edge is None else str(edge.max_parallel)
