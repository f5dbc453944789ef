"""What one agent may do: its grant, and the policy over its calls."""

from collections.abc import Callable, Collection

from hub.core.team import Edge, Grant, PermissionMode, Role
from hub.permissions.policy import Effect, Policy, Rule
from hub.roles.matrix import grant_for


def policy_of(role: Role, grant: Grant, rules: tuple[Rule, ...], bundled: frozenset[str]) -> Policy:
    """Return the policy of an agent of a role; ``bundled`` servers go by their own names."""
    lists: tuple[tuple[Effect, Collection[str]], ...] = (
        ("deny", role.deny),
        ("ask", role.ask),
        ("allow", role.allow),
    )
    own = tuple(
        Rule(effect, pattern, role.origin) for effect, patterns in lists for pattern in patterns
    )
    return Policy(rules + own, grant.ceiling, plan=grant.plan, bundled=bundled)


def deriver(mode: PermissionMode) -> Callable[[Role, Grant, Edge], Grant]:
    """Return how a child comes to its grant in a tree of this mode."""

    def derive(role: Role, parent: Grant, edge: Edge) -> Grant:
        return grant_for(role, parent=parent, edge=edge, mode=mode)

    return derive
