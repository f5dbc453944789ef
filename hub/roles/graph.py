"""The graph of a team as it is drawn: roles in layers, what each may do, and its edges. Pure."""

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

from hub.core.team import Edge, Role
from hub.roles.matrix import Matrix

Kind = Literal["writer", "reader", "bare"]

KIND_WORDS: Mapping[Kind, str] = {
    "writer": "changes things",
    "reader": "changes no files",
    "bare": "no tools",
}
_SEPARATOR = " · "


class Line(Struct, frozen=True):
    """One edge as it is drawn."""

    target: str
    words: str
    """Caps and budgets."""
    exists: bool
    """Whether there is such a role."""


class Node(Struct, frozen=True):
    """One role as it is drawn."""

    name: str
    description: str
    kind: Kind
    user_facing: bool
    reachable: bool
    tools: tuple[tuple[str, tuple[str, ...]], ...]
    """Names of tools by server; all of a server's as ``all N``."""
    bounds: str
    """What bounds and accepts its work; empty for nothing of its own."""
    lines: tuple[Line, ...]

    @property
    def what(self) -> str:
        """What it is, in a few words."""
        words = [KIND_WORDS[self.kind]]
        words += ["a user may start it"] if self.user_facing else []
        words += [] if self.reachable else ["nobody can start it"]
        return _SEPARATOR.join(words)


def layers(roles: Mapping[str, Role], matrix: Matrix, writers: Collection[str]) -> list[list[Node]]:
    """Return the roles by their distance from the user; those that nobody reaches come last.

    Within a layer, a role stands near those that dispatch to it, so that few lines cross.
    """
    depth = {name: 0 for name in matrix.roles if roles[name].user_facing}
    waiting = list(depth)
    for name in waiting:
        for edge in roles[name].dispatch:
            if edge.role in roles and edge.role not in depth:
                depth[edge.role] = depth[name] + 1
                waiting.append(edge.role)
    last = max(depth.values(), default=-1) + 1
    rows: list[list[str]] = [[] for _ in range(last + 1)]
    for name in matrix.roles:
        rows[depth.get(name, last)].append(name)
    above: dict[str, int] = {}
    made = []
    for row in rows:
        row.sort(key=lambda name: _middle(name, above, roles))
        above = {name: number for number, name in enumerate(row)}
        made.append([_node(roles, name, matrix, writers, found=name in depth) for name in row])
    return [row for row in made if row]


def edge_words(edge: Edge) -> str:
    """Return the caps and budgets of an edge in one line."""
    words = [f"{edge.max_parallel} at once"]
    words += [f"{short(edge.tokens)} tokens"] if edge.tokens is not None else []
    words += [f"${edge.usd:g}"] if edge.usd is not None else []
    words += ["own work tree"] if edge.isolated else []
    words += [f"only {' '.join(edge.tools)}"] if edge.tools else []
    return _SEPARATOR.join(words)


def short(number: int) -> str:
    """Return a large number in few characters, such as ``200k``; never a rounded one."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size and number % (size // 10) == 0:
            return f"{number / size:g}{letter}"
    return str(number)


def _middle(name: str, above: Mapping[str, int], roles: Mapping[str, Role]) -> tuple[float, str]:
    ports = [
        place + number / len(roles[parent].dispatch)
        for parent, place in above.items()
        for number, edge in enumerate(roles[parent].dispatch)
        if edge.role == name
    ]
    return (sum(ports) / len(ports) if ports else 0.0, name)


def _node(
    roles: Mapping[str, Role],
    name: str,
    matrix: Matrix,
    writers: Collection[str],
    *,
    found: bool,
) -> Node:
    role = roles[name]
    granted = [tool for tool in matrix.tools if tool in matrix.grants[role.name]]
    kind: Kind = "bare" if not granted else "reader"
    if any(tool in writers for tool in granted):
        kind = "writer"
    return Node(
        name=role.name,
        description=role.description,
        kind=kind,
        user_facing=role.user_facing,
        reachable=found,
        tools=_by_server(granted, matrix.tools),
        bounds=_bounds(role),
        lines=tuple(Line(e.role, edge_words(e), e.role in roles) for e in role.dispatch),
    )


def _by_server(
    granted: Collection[str], known: Collection[str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    every: dict[str, int] = {}
    for tool in known:
        server = tool.rpartition("__")[0].partition("__")[0]
        every[server] = every.get(server, 0) + 1
    own: dict[str, list[str]] = {}
    for tool in granted:
        server, joint, name = tool.partition("__")
        own.setdefault(server if joint else "", []).append(name if joint else tool)
    return tuple(
        (server, (f"all {len(names)}",) if len(names) == every[server] > 1 else tuple(names))
        for server, names in own.items()
    )


def _bounds(role: Role) -> str:
    words = [f"mode {role.mode}"] if role.mode else []
    words += ["own work tree"] if role.isolated else []
    if role.acceptance.kind != "none":
        words.append(f"accepted: {role.acceptance.command or role.acceptance.kind}")
    limits = role.limits
    words += [f"{short(limits.tokens)} tokens"] if limits.tokens is not None else []
    words += [f"${limits.usd:g}"] if limits.usd is not None else []
    words += [f"{limits.seconds:g} s"] if limits.seconds is not None else []
    return _SEPARATOR.join(words)
