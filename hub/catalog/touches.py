"""Names the rules of a server's own entry in the settings that touch one of its tools. Pure."""

from collections.abc import Iterator

from hub.catalog.explain import RuleKind, Touch
from hub.core.servers import ServerSpec, ToolRule
from hub.core.team import matches_any


def touches_of(spec: ServerSpec, tool: str, *, renamed: bool) -> Iterator[Touch]:
    """Yield the rules in the order in which they work; ``renamed`` says that a rename did."""
    where = str(spec.origin)
    patterns = [("allow", one) for one in spec.allow if spec.allow != ("*",)]
    patterns += [("deny", one) for one in spec.deny]
    for key, pattern in patterns:
        if matches_any(tool, (pattern,)):
            yield Touch("deny" if key == "deny" else "allow", f"{key}: {pattern!r}", where)
    if (rule := spec.tools.get(tool)) is not None:
        for kind, text in _parts(rule, renamed=renamed):
            yield Touch(kind, text, str(rule.origin))


def _parts(rule: ToolRule, *, renamed: bool) -> Iterator[tuple[RuleKind, str]]:
    if rule.rename:
        yield "rename", f"rename: {rule.rename}{'' if renamed else ' (refused)'}"
    if rule.description:
        yield "description", f"description: {rule.description!r:.200}"
    if rule.defaults:
        yield "defaults", f"defaults: {', '.join(rule.defaults)}"
    if rule.hidden:
        yield "hidden", f"hidden: {', '.join(rule.hidden)}"
    if rule.idempotent is not None:
        yield "idempotent", f"idempotent: {str(rule.idempotent).lower()}"
