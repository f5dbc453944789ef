"""``hub roles new``: a role file to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from hub.app.new_role import new_role
from hub.cli.layout import paragraph, show
from hub.cli.options import Directory, TeamFolder


def create_role(
    name: Annotated[str, typer.Argument(help="The name of the new role.")],
    *,
    source: Annotated[
        str | None, typer.Option("--from", help="Begin with a copy of this role.", metavar="ROLE")
    ] = None,
    for_user: Annotated[
        bool, typer.Option("--user", help="For you, in every project, not for this one.")
    ] = False,
    directory: Directory = Path(),
    team_folder: TeamFolder = None,
) -> None:
    """Write a role file with a comment on every key, and say what to do next."""
    made = new_role(directory, name, source=source, for_user=for_user, team=team_folder)
    show(paragraph(f"written: {made.path}"))
    show(["", "Next:"])
    for number, step in enumerate(made.next_steps, 1):
        show(paragraph(f"{number}. {step}", indent="  "))
