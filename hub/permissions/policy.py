"""Which call may happen, decided from rules, mode and what the tool says of itself. Pure."""

from typing import Literal

from msgspec import Struct

from hub.core.messages import ToolSpec
from hub.core.team import Origin, PermissionMode, matches_any

Effect = Literal["allow", "ask", "deny"]

EDIT_TOOLS = ("files__write", "files__edit", "notes__memory")
"""Bundled tools that the mode ``accept_edits`` allows beside read-only tools."""
HARMLESS_TOOLS = ("notes__scratchpad", "notes__todo")
"""Bundled tools that change nothing outside of the run."""


class Rule(Struct, frozen=True):
    """One line of a permission list."""

    effect: Effect
    pattern: str
    """A glob over model-facing tool names; it means exactly what is written."""
    origin: Origin

    def matches(self, tool: str) -> bool:
        """Say whether the rule speaks of this tool."""
        return matches_any(tool, (self.pattern,))


class Ruling(Struct, frozen=True):
    """Whether a call may happen, why, and who says so."""

    effect: Effect
    reason: str
    origin: str = ""


class Policy(Struct, frozen=True):
    """The rules of all layers added up, and the mode as a ceiling.

    The order is fixed: deny rule, ceiling ``plan``, ask rule, allow rule, mode.
    """

    rules: tuple[Rule, ...]
    mode: PermissionMode = "default"
    plan: bool = False
    """The mode ``plan`` holds somewhere above as well, whatever the mode is here."""
    bundled: frozenset[str] = frozenset()
    """Servers whose tools are what their names say, since they come with the hub."""

    def judge(self, spec: ToolSpec) -> Ruling:
        """Rule on a call of a tool; the arguments do not count in this form.

        A rule may speak of a tool by its name or by one that it would have without an alias.
        """
        if denied := self._first("deny", spec):
            return denied
        if not spec.server:
            return Ruling("allow", "the hub's own tool")
        if (self.plan or self.mode == "plan") and not self._changes_nothing(spec):
            return Ruling("deny", f"mode plan allows only what changes nothing; {spec.name} may")
        if asked := self._first("ask", spec):
            return asked
        if allowed := self._first("allow", spec):
            return allowed
        return self._by_mode(spec)

    def _first(self, effect: Effect, spec: ToolSpec) -> Ruling | None:
        names = (spec.name, *spec.other_names)
        for rule in self.rules:
            if rule.effect == effect and any(rule.matches(name) for name in names):
                return Ruling(effect, f"{effect} rule {rule.pattern!r}", str(rule.origin))
        return None

    def _by_mode(self, spec: ToolSpec) -> Ruling:
        origin = f"mode {self.mode}"
        if self.mode == "bypass":
            return Ruling("allow", "mode bypass allows what no rule denies", origin)
        if self.mode == "deny":
            return Ruling(
                "deny", f"mode deny allows only what a rule allows; none allows {spec.name}", origin
            )
        if self._changes_nothing(spec):
            return Ruling("allow", "it changes nothing", origin)
        if self.mode == "accept_edits" and self._is_own(spec, EDIT_TOOLS):
            return Ruling("allow", "mode accept_edits allows edits of files", origin)
        return Ruling("ask", f"no rule allows {spec.name} and it may change something", origin)

    def _changes_nothing(self, spec: ToolSpec) -> bool:
        """Say so on the word of the server, which the user has chosen to connect."""
        return spec.read_only or self._is_own(spec, HARMLESS_TOOLS)

    def _is_own(self, spec: ToolSpec, names: tuple[str, ...]) -> bool:
        own = f"{spec.server}__{spec.tool}" if spec.tool else spec.name
        return spec.server in self.bundled and own in names
