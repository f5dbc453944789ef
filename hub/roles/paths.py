"""Ways through the graph of roles. Pure."""

from collections.abc import Mapping

from hub.core.team import Role


def routes(roles: Mapping[str, Role], start: str) -> dict[str, tuple[str, ...]]:
    """Return a shortest way to each role that can be reached over edges, ``start`` included first.

    ``start`` itself is a target only if it can be reached again.
    """
    found: dict[str, tuple[str, ...]] = {}
    waiting: list[tuple[str, ...]] = [(start,)]
    for way in waiting:
        for edge in roles[way[-1]].dispatch:
            if edge.role in roles and edge.role not in found:
                found[edge.role] = (*way, edge.role)
                waiting.append(found[edge.role])
    return found


def cycles(roles: Mapping[str, Role]) -> list[tuple[str, ...]]:
    """Return a shortest cycle through each role that is on one, each cycle once."""
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for name in sorted(roles):
        way = routes(roles, name).get(name)
        if way is not None:
            found.setdefault(frozenset(way), way[:-1])
    return list(found.values())
