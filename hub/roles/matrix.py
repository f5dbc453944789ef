"""Who may dispatch to whom and who may use what, derived from the roles. Pure."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from hub.core.team import Edge, Grant, PermissionMode, Role, tightest

_NO_OTHERS: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Matrix(Struct, frozen=True):
    """Role by role and role by tool."""

    roles: tuple[str, ...]
    """Names, the user-facing ones first."""
    tools: tuple[str, ...]
    edges: Mapping[str, Mapping[str, Edge]]
    """Per role, the edge to each role that it may dispatch to."""
    grants: Mapping[str, frozenset[str]]
    """Per role, the tools that its own lists leave it."""


def grant_for(
    role: Role, *, parent: Grant | None = None, edge: Edge | None = None, mode: PermissionMode
) -> Grant:
    """Return what an agent of a role may do; the root has no parent and no edge.

    The ceiling descends: no child has a wider mode than its parent, and a role can only tighten
    it. What an edge narrows stays narrow further down. A role's own lists do not descend, so that
    a parent without a tool may dispatch to a child that has it.
    """
    ceiling = tightest(parent.ceiling, mode) if parent else mode
    plan = "plan" in (mode, role.mode) or (parent is not None and parent.plan)
    if role.mode is not None:
        ceiling = tightest(ceiling, role.mode)
    also = parent.also if parent else ()
    if edge is not None and edge.tools:
        also = (*also, edge.tools)
    return Grant(role.tools, role.disallowed_tools, ceiling, plan=plan, also=also)


def matrix(
    roles: Mapping[str, Role],
    tool_names: Collection[str],
    others: Mapping[str, tuple[str, ...]] = _NO_OTHERS,
) -> Matrix:
    """Derive the matrix of a team over a catalog; ``others`` are further names of tools."""
    ordered = sorted(roles.values(), key=lambda role: (not role.user_facing, role.name))
    return Matrix(
        roles=tuple(role.name for role in ordered),
        tools=tuple(tool_names),
        edges={role.name: {edge.role: edge for edge in role.dispatch} for role in ordered},
        grants={role.name: frozenset(granted(role, tool_names, others)) for role in ordered},
    )


def granted(
    role: Role,
    tool_names: Collection[str],
    others: Mapping[str, tuple[str, ...]] = _NO_OTHERS,
) -> list[str]:
    """Return the tools that a role's own lists leave it, by whatever name these speak of them."""
    grant = Grant(role.tools, role.disallowed_tools)
    return [name for name in tool_names if grant.admits(name, *others.get(name, ()))]
