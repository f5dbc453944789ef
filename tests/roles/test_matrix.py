"""Grants only get narrower, and the matrix is derived from the roles."""

from collections.abc import Callable
from itertools import product

import pytest

from hub.core.team import MODE_ORDER, Edge, Grant, PermissionMode, Role
from hub.roles.load import RoleBook
from hub.roles.matrix import grant_for, matrix


def test_a_root_gets_its_roles_tools_and_the_runs_mode() -> None:
    """There is no parent and no edge."""
    grant = grant_for(Role("lead", tools=("files__*",), disallowed_tools=("x",)), mode="plan")
    assert grant == Grant(("files__*",), ("x",), "plan", plan=True)


@pytest.mark.parametrize(("run", "own", "parent"), [*product(MODE_ORDER, repeat=3)])
def test_no_role_has_a_wider_mode_than_the_run_or_its_parent(
    run: PermissionMode, own: PermissionMode, parent: PermissionMode
) -> None:
    """A29: the ceiling descends; a role can only tighten it."""
    above = Grant(("*",), ceiling=parent)
    grant = grant_for(Role("worker", mode=own), parent=above, edge=Edge("worker"), mode=run)
    assert grant.ceiling == min((run, own, parent), key=MODE_ORDER.index)


def test_the_ban_on_changes_of_plan_descends_through_tighter_modes() -> None:
    """Deny is tighter in what is asked, and yet lets allow rules change something."""
    root = grant_for(Role("lead"), mode="plan")
    strict = grant_for(Role("a", mode="deny"), parent=root, edge=Edge("a"), mode="plan")
    below = grant_for(Role("b"), parent=strict, edge=Edge("b"), mode="plan")
    assert strict.plan
    assert (below.ceiling, below.plan) == ("deny", True)
    assert not grant_for(Role("c", mode="deny"), mode="default").plan


def test_a_roles_own_tools_do_not_descend() -> None:
    """A29: a controller without any tool may dispatch to a worker with all of them."""
    controller = grant_for(Role("controller", tools=()), mode="default")
    edge = Edge("worker")
    child = grant_for(
        Role("worker", tools=("files__*",)), parent=controller, edge=edge, mode="default"
    )
    assert not controller.admits("files__write")
    assert child.admits("files__write")


def test_what_an_edge_narrows_stays_narrow_further_down() -> None:
    """A name must match in the lists of all edges on the way."""
    role = Role("any", tools=("*",))
    root = grant_for(role, mode="default")
    first = grant_for(role, parent=root, edge=Edge("any", tools=("files__*",)), mode="default")
    second = grant_for(role, parent=first, edge=Edge("any", tools=("*__read",)), mode="default")
    third = grant_for(role, parent=second, edge=Edge("any"), mode="default")
    assert third.admits("files__read")
    assert not third.admits("files__write")
    assert not third.admits("notes__read")


def test_the_matrix_shows_edges_and_tools_of_each_role(
    team: Callable[..., RoleBook], tool_names: tuple[str, ...]
) -> None:
    """User-facing roles come first."""
    book = team(
        a="tools: [files__read]",
        z="user_facing: true\ntools: ['notes__*']\ndispatch: [{role: a, max_parallel: 2}]",
    )
    found = matrix(book.roles, tool_names)
    assert found.roles == ("z", "a")
    assert found.edges["z"] == {"a": Edge("a", 2)}
    assert found.edges["a"] == {}
    assert found.grants["a"] == {"files__read"}
    assert found.grants["z"] == {"notes__memory", "notes__scratchpad", "notes__todo"}
    assert found.tools == tool_names
