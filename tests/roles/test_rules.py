"""Permission rules that match no tool."""

from collections.abc import Callable

import pytest

from hub.config.layers import PermissionRule
from hub.core.team import Origin
from hub.roles.check import check
from hub.roles.load import RoleBook
from hub.roles.rules import dead_rules


def told(pattern: str, tools: tuple[str, ...], *unlisted: str) -> list[str]:
    """Return what is said of one deny rule."""
    rule = PermissionRule("deny", pattern, Origin("user", "a.yaml", 3))
    return [words for _, words in dead_rules([rule], tools, unlisted)]


def test_a_misspelt_rule_is_told_with_the_nearest_name(tool_names: tuple[str, ...]) -> None:
    """It would deny nothing, and nobody would know."""
    assert told("files__wirte", tool_names) == [
        "permissions.deny: 'files__wirte' matches no tool, so it does nothing. "
        "Did you mean 'files__write'?"
    ]


@pytest.mark.parametrize("pattern", ["files__*", "*", "shell__run", "dispatch", "report"])
def test_a_rule_that_matches_something_is_not_told(
    pattern: str, tool_names: tuple[str, ...]
) -> None:
    """The hub's own tools count as well."""
    assert told(pattern, tool_names) == []


@pytest.mark.parametrize(
    ("pattern", "judged"),
    [
        ("git__push", False),
        ("git__*", False),
        ("g*", False),
        ("*push*", False),
        ("gitt__push", True),
        ("files__x*", True),
        ("git", True),
    ],
)
def test_a_rule_for_a_server_whose_tools_are_unknown_is_not_judged(
    pattern: str, judged: bool, tool_names: tuple[str, ...]
) -> None:
    """It failed, is switched off, or is withheld: the rule may match once it is there."""
    assert bool(told(pattern, tool_names, "git")) is judged


def test_the_rules_of_a_role_are_checked_with_their_lines(
    team: Callable[..., RoleBook], tool_names: tuple[str, ...]
) -> None:
    """A warning: the role can work, but not as it was meant to."""
    book = team(lead="user_facing: true\npermissions:\n  deny:\n    - shell__run\n    - shell__rum")
    [found] = check(book, tool_names)
    assert (found.severity, found.role, found.origin.line) == ("warning", "lead", 6)
    assert "Did you mean 'shell__run'?" in found.message
