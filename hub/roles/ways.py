"""Ways through the graph of roles together with the tools that are left at their end. Pure."""

from collections.abc import Collection, Mapping

from msgspec import Struct

from hub.core.team import Role, matches_any
from hub.roles.matrix import granted


class Way(Struct, frozen=True):
    """One way to a role over edges."""

    roles: tuple[str, ...]
    """From the first to the last."""
    tools: frozenset[str]
    """What the last one may use when it is reached like this."""


def ways(
    roles: Mapping[str, Role], start: str, tool_names: Collection[str]
) -> dict[str, list[Way]]:
    """Return the ways from a role to every role that it reaches, itself included, shortest first.

    What an edge narrows stays narrow behind it. A way that leaves no more than one that was found
    before is left out.
    """
    found: dict[str, list[Way]] = {start: []}
    passed: dict[str, list[frozenset[str]]] = {}
    waiting: list[tuple[tuple[str, ...], frozenset[str]]] = [((start,), frozenset(tool_names))]
    for names, left in waiting:
        role = roles[names[-1]]
        if any(left <= earlier for earlier in passed.setdefault(role.name, [])):
            continue
        passed[role.name].append(left)
        tools = frozenset(granted(role, sorted(left)))
        found.setdefault(role.name, []).append(Way(names, tools))
        waiting += [
            ((*names, edge.role), narrowed(left, edge.tools))
            for edge in role.dispatch
            if edge.role in roles
        ]
    return found


def narrowed(names: frozenset[str], patterns: tuple[str, ...]) -> frozenset[str]:
    """Return the tools that the patterns of an edge leave; no patterns leave all."""
    if not patterns:
        return names
    return frozenset(name for name in names if matches_any(name, patterns))
