"""``hub roles``: who there is, who may do what, and whether that can work."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hub.app.inspect import Team, load_team
from hub.cli.examples import examples
from hub.cli.layout import columns, facts, painted, paragraph, show
from hub.cli.options import Directory, StrictMcp, TeamFolder
from hub.cli.team.check import check_roles
from hub.cli.team.matrix import show_matrix
from hub.cli.team.new import create_role
from hub.core.team import Edge, Role

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


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


app.command(
    "check", epilog=examples("hub roles check", "hub roles check --team examples/survey --json")
)(check_roles)
app.command("matrix", epilog=examples("hub roles matrix", "hub roles matrix --svg team.svg"))(
    show_matrix
)
app.command(
    "new", epilog=examples("hub roles new scout", "hub roles new tester --from worker --user")
)(create_role)


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
        ("accepted", _acceptance_words(role)),
        ("works in", "a git work tree of its own" if role.isolated else ""),
        ("limits", ", ".join(f"{name} {value:g}" for name, value in bounds.items() if value)),
    ]


def _acceptance_words(role: Role) -> str:
    accepted = role.acceptance
    if accepted.kind != "command":
        return "" if accepted.kind == "none" else accepted.kind
    if not accepted.command:
        return "by a command that is withheld until the workspace is trusted"
    return f"{accepted.command} (at most {accepted.timeout:g} s)"


def _edge_words(edge: Edge) -> str:
    words = [f"{edge.max_parallel} at once"]
    words += [f"only {' '.join(edge.tools)}"] if edge.tools else []
    words += [f"{edge.tokens} tokens each"] if edge.tokens is not None else []
    words += [f"${edge.usd:g} each"] if edge.usd is not None else []
    words += ["in work trees of their own"] if edge.isolated else []
    return f"{edge.role} ({', '.join(words)})"
