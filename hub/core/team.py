"""Who an agent is and what it may do: roles, edges and grants as values."""

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct, field

from hub.core.acceptance import Acceptance
from hub.core.limits import Limits

PermissionMode = Literal["default", "accept_edits", "plan", "deny", "bypass"]

MODE_ORDER: tuple[PermissionMode, ...] = ("deny", "plan", "default", "accept_edits", "bypass")
"""From the tightest mode to the widest."""


def tightest(a: PermissionMode, b: PermissionMode) -> PermissionMode:
    """Return the mode that allows less."""
    return min(a, b, key=MODE_ORDER.index)


class Origin(Struct, frozen=True):
    """Where a value came from."""

    layer: str
    """``default``, ``user``, ``project``, ``local``, ``env``, ``flag``, ``shipped``, …"""
    path: str = ""
    line: int = 0

    def __str__(self) -> str:
        if not self.path:
            return self.layer
        return f"{self.path}:{self.line}" if self.line else self.path


class Edge(Struct, frozen=True):
    """Permission for one role to dispatch to another, with bounds."""

    role: str
    """The role that may be dispatched to."""
    max_parallel: int = 8
    """How many children over this edge run at once; more wait their turn."""
    tools: tuple[str, ...] = ()
    """Patterns that narrow the child's tools further; empty narrows nothing."""
    tokens: int | None = None
    """Budget of one job over this edge, in tokens."""
    usd: float | None = None
    """Budget of one job over this edge, in US dollars."""
    isolated: bool = False
    """Jobs over this edge work in git work trees of their own."""


class Role(Struct, frozen=True):
    """Instructions, model, tools, edges, limits and report schema of one kind of agent."""

    name: str
    description: str = ""
    instructions: str = ""
    model: str = ""
    """A model's name or entry, or ``script:FILE``; empty takes the run's model."""
    tools: tuple[str, ...] = ("*",)
    """Patterns over the catalog's names."""
    disallowed_tools: tuple[str, ...] = ()
    dispatch: tuple[Edge, ...] = ()
    user_facing: bool = False
    """A user may start it; it ends with an answer and needs no report."""
    mode: PermissionMode | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    report_schema: Mapping[str, Any] | None = None
    """JSON Schema of the report's ``data``."""
    acceptance: Acceptance = field(default_factory=Acceptance)
    """What has to hold before its report counts."""
    isolated: bool = False
    """As a child it works in a git work tree of its own."""
    origin: Origin = field(default_factory=lambda: Origin("shipped"))

    def edge_to(self, role: str) -> Edge | None:
        """Return the edge to a role, or None when there is none."""
        return next((edge for edge in self.dispatch if edge.role == role), None)


class Grant(Struct, frozen=True):
    """What one agent may do; derived once per agent, only ever narrowed."""

    tools: tuple[str, ...]
    """Patterns of which a tool's name must match one."""
    disallowed_tools: tuple[str, ...] = ()
    ceiling: PermissionMode = "default"
    """The widest mode here and below."""
    plan: bool = False
    """The mode ``plan`` holds here or above; no tighter mode lifts its ban on changes."""
    also: tuple[tuple[str, ...], ...] = ()
    """Further pattern lists, one for each edge on the way down; a name must match in each."""

    def admits(self, *names: str) -> bool:
        """Say whether a tool that goes by these names is within the grant.

        Each list may speak of it by any of them, so that a ban on one is a ban on the tool.
        """
        if any(matches_any(name, self.disallowed_tools) for name in names):
            return False
        return all(
            any(matches_any(name, patterns) for name in names)
            for patterns in (self.tools, *self.also)
        )


def matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    """Match a whole name against globs, case-sensitively; a pattern means what is written."""
    if not patterns:
        return False
    return patterns == ("*",) or _matcher(patterns)(name) is not None


@lru_cache(maxsize=4096)
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(translate(pattern) for pattern in patterns)).match
