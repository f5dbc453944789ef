"""Pictures of a team: who may dispatch to whom, under which bounds, with which tools."""

from hub.app.inspect import Team
from hub.roles.escalation import WRITERS
from hub.roles.graph import Node, layers
from hub.roles.mermaid import mermaid
from hub.roles.svg import svg


def team_svg(team: Team) -> str:
    """Return the picture of a team as an SVG document."""
    return svg(_layers(team))


def team_mermaid(team: Team) -> str:
    """Return the picture of a team as a Mermaid flowchart."""
    return mermaid(_layers(team))


def _layers(team: Team) -> list[list[Node]]:
    return layers(team.book.roles, team.matrix(), WRITERS)
