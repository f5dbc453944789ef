"""Permission rules that speak of no tool: a misspelt ``deny`` denies nothing. Pure."""

import re
from collections.abc import Collection, Iterable, Iterator

from hub.config.keys import KeyPath
from hub.config.layers import PermissionRule
from hub.config.patterns import EFFECTS
from hub.config.problems import nearest
from hub.core.team import Role, matches_any
from hub.roles.load import RoleBook

HUB_TOOLS = frozenset({"dispatch", "report", "resources", "tool_search", "read_result"})
"""Tools that the hub adds by itself."""
_JOINT = "__"
_WILDCARD = re.compile(r"[*?\[]")


def rules_of(book: RoleBook, role: Role) -> Iterator[PermissionRule]:
    """Yield the permission rules of a role, each with its place."""
    for effect in EFFECTS:
        for index, pattern in enumerate(getattr(role, effect)):
            key: KeyPath = ("permissions", effect, index)
            yield PermissionRule(effect, pattern, book.place(role.name, key))


def dead_rules(
    rules: Iterable[PermissionRule], tool_names: Collection[str], unlisted: Collection[str] = ()
) -> Iterator[tuple[PermissionRule, str]]:
    """Yield each rule that matches no tool, with what to say of it.

    ``unlisted`` are servers whose tools are not known; what may speak of them is not judged.
    """
    known = HUB_TOOLS.union(tool_names)
    for rule in rules:
        pattern = rule.pattern
        if any(matches_any(name, (pattern,)) for name in known):
            continue
        if any(_may_speak_of(pattern, server) for server in unlisted):
            continue
        text = f"permissions.{rule.effect}: {pattern!r} matches no tool, so it does nothing."
        yield rule, f"{text} {nearest(pattern, known)}".strip()


def _may_speak_of(pattern: str, server: str) -> bool:
    """Say whether a pattern may match a tool of a server, whatever its tools are called."""
    plain = _WILDCARD.split(pattern, maxsplit=1)[0]
    if _JOINT in plain:
        return plain.partition(_JOINT)[0] == server
    return plain != pattern and f"{server}{_JOINT}".startswith(plain)
