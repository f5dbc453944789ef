"""What a check of a team finds, as values."""

from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from hub.core.team import Origin
from hub.roles.load import RoleBook

Severity = Literal["error", "warning", "info"]


class Finding(Struct, frozen=True):
    """One thing that the check found."""

    severity: Severity
    role: str
    """Empty for a finding about the settings."""
    message: str
    origin: Origin
    path: tuple[str, ...] = ()
    """The roles on the way that it speaks of."""
    places: tuple[Origin, ...] = ()
    """Where the edges of that way stand."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return {
            "severity": self.severity,
            "role": self.role,
            "message": self.message,
            "file": self.origin.path,
            "line": self.origin.line,
            "path": list(self.path),
            "edges": [str(place) for place in self.places],
        }


def along(severity: Severity, book: RoleBook, path: tuple[str, ...], message: str) -> Finding:
    """Return a finding about a way, at its first edge."""
    places = tuple(edge_place(book, start, end) for start, end in pairwise(path))
    return Finding(severity, path[0], message, places[0], path, places)


def edge_place(book: RoleBook, role: str, target: str) -> Origin:
    """Return where the edge from one role to another stands."""
    edges = [edge.role for edge in book.roles[role].dispatch]
    return book.place(role, ("dispatch", edges.index(target)))
