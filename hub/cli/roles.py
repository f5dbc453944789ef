"""``hub roles``: who there is, who may do what, and whether that can work."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.inspect import Team, load_team, load_whole_team
from hub.cli.examples import examples
from hub.cli.layout import Colour, columns, facts, marked, painted, paragraph, show
from hub.cli.options import Directory, StrictMcp, TeamFolder
from hub.core.outcomes import EXIT_USAGE
from hub.core.team import Edge, Role

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

COLOURS: dict[str, Colour] = {"error": "red", "warning": "yellow", "info": "dim"}


@app.callback(epilog=examples("hub roles list", "hub roles matrix -C ../site"))
def roles() -> None:
    """Look at the team: who there is and who may do what."""


@app.command("list", epilog=examples("hub roles list", "hub roles list -C ../site"))
def list_roles(
    *,
    directory: Directory = Path(),
    team_folder: TeamFolder = None,
    strict_mcp: StrictMcp = None,
) -> None:
    """List the roles with their models, edges and where they come from."""
    team = load_team(directory, team=team_folder, strict_mcp=strict_mcp)
    header = ("NAME", "START", "MODEL", "DISPATCHES TO", "FROM", "DESCRIPTION")
    rows = [
        (
            role.name,
            "yes" if role.user_facing else "-",
            _model(team, role),
            ", ".join(edge.role for edge in role.dispatch) or "-",
            role.origin.layer,
            role.description,
        )
        for role in team.ordered()
    ]
    show(columns([header, *rows]))


@app.command("show", epilog=examples("hub roles show lead"))
def show_role(
    name: Annotated[str, typer.Argument(help="The role's name.")],
    *,
    directory: Directory = Path(),
    team_folder: TeamFolder = None,
    strict_mcp: StrictMcp = None,
) -> None:
    """Show everything about one role: tools, edges, limits, instructions."""
    team = load_team(directory, team=team_folder, strict_mcp=strict_mcp)
    role = team.book.get(name)
    show(facts([("name", role.name), *_facts(team, role)]))
    if role.report_schema is not None:
        schema = json.dumps(role.report_schema, indent=2, ensure_ascii=False)
        show(["", painted("report schema", "bold"), *paragraph(schema, indent="  ")])
    show(["", painted("instructions", "bold"), *paragraph(role.instructions, indent="  ")])


@app.command("check", epilog=examples("hub roles check", "hub roles check --team examples/survey"))
def check_roles(
    *,
    directory: Directory = Path(),
    team_folder: TeamFolder = None,
    strict_mcp: StrictMcp = None,
) -> None:
    """Check the team: dead patterns, missing roles, cycles, ways to more rights."""
    team = anyio.run(partial(load_whole_team, directory, team=team_folder, strict_mcp=strict_mcp))
    findings = team.check()
    for finding in findings:
        whose = f"role {finding.role!r}" if finding.role else "settings"
        text = f"{whose}: {finding.message}"
        show(marked(f"{finding.severity}:", COLOURS[finding.severity], text))
        show(paragraph(str(finding.origin), indent="  at "))
    for note in (*team.book.notes, *team.problems):
        show(paragraph(f"note: {note}"))
    errors = sum(finding.severity == "error" for finding in findings)
    show([
        f"{len(team.book.roles)} roles, {errors} errors, {len(findings) - errors} other findings"
    ])
    raise typer.Exit(EXIT_USAGE if errors else 0)


@app.command("matrix", epilog=examples("hub roles matrix"))
def show_matrix(
    *,
    directory: Directory = Path(),
    team_folder: TeamFolder = None,
    strict_mcp: StrictMcp = None,
) -> None:
    """Draw who may dispatch to whom, and who may use which tool."""
    team = anyio.run(partial(load_whole_team, directory, team=team_folder, strict_mcp=strict_mcp))
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


def _edge(edge: Edge | None) -> str:
    return "." if edge is None else str(edge.max_parallel)


def _model(team: Team, role: Role) -> str:
    return role.model or team.loaded.settings.model or "-"


def _facts(team: Team, role: Role) -> list[tuple[str, str]]:
    limits = role.limits
    bounds = {
        "steps": limits.steps,
        "tool calls": limits.tool_calls,
        "seconds": limits.seconds,
        "tokens": limits.tokens,
        "USD": limits.usd,
        "steps of its tree": limits.tree_steps,
        "tool calls of its tree": limits.tree_tool_calls,
        "depth": limits.depth,
    }
    return [
        ("description", role.description),
        ("from", str(role.origin)),
        ("started by", "users and parents" if role.user_facing else "parents"),
        ("model", _model(team, role)),
        ("mode", role.mode or ""),
        ("tools", ", ".join(role.tools)),
        ("without", ", ".join(role.disallowed_tools)),
        ("comes to", ", ".join(team.tools_of(role)) or "nothing that is known before a run"),
        ("allow", ", ".join(role.allow)),
        ("ask", ", ".join(role.ask)),
        ("deny", ", ".join(role.deny)),
        ("dispatches to", ", ".join(_edge_words(edge) for edge in role.dispatch)),
        ("limits", ", ".join(f"{name} {value:g}" for name, value in bounds.items() if value)),
    ]


def _edge_words(edge: Edge) -> str:
    words = [f"{edge.max_parallel} at once"]
    words += [f"only {' '.join(edge.tools)}"] if edge.tools else []
    words += [f"{edge.tokens} tokens each"] if edge.tokens is not None else []
    return f"{edge.role} ({', '.join(words)})"
