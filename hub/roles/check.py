"""The static check of a team: what cannot work, what looks wrong, what deserves a look. Pure."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from hub.config.problems import Problem, fault, nearest
from hub.core.errors import RoleError
from hub.core.limits import Limits
from hub.core.team import Role, matches_any
from hub.roles import paths
from hub.roles.escalation import WRITERS, escalations
from hub.roles.finding import Finding, Severity, along
from hub.roles.load import RoleBook
from hub.roles.matrix import granted
from hub.roles.rules import HUB_TOOLS, dead_rules, rules_of

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")


def check(
    book: RoleBook,
    tool_names: Collection[str],
    *,
    writers: Collection[str] = WRITERS,
    unlisted: Collection[str] = (),
    schemas: bool = True,
) -> list[Finding]:
    """Check a team against a catalog; errors come first.

    ``writers`` are the tools that change something, ``unlisted`` the servers whose tools are not
    known. Without ``schemas``, the report schemas are left out; checking them costs the import of
    a library.
    """
    found = [
        *(finding for role in book.roles.values() for finding in check_edges(book, role)),
        *(
            finding
            for role in book.roles.values()
            for finding in (
                *check_tools(book, role, tool_names),
                *check_narrowing(book, role, tool_names),
            )
        ),
        *(
            Finding("warning", role.name, words, rule.origin)
            for role in book.roles.values()
            for rule, words in dead_rules(rules_of(book, role), tool_names, unlisted)
        ),
        *(finding for role in book.roles.values() if schemas for finding in _schema(book, role)),
        *_cycles(book),
        *_unreachable(book),
        *escalations(book, tool_names, writers),
    ]
    return sorted(found, key=lambda finding: _ORDER.index(finding.severity))


def check_tools(book: RoleBook, role: Role, tool_names: Collection[str]) -> Iterator[Finding]:
    """Check one role's lists of tools: each pattern has to match something."""
    servers = {name.partition("__")[0] for name in tool_names}
    for key, patterns in (("tools", role.tools), ("disallowed_tools", role.disallowed_tools)):
        silent = [
            (index, pattern)
            for index, pattern in enumerate(patterns)
            if not any(matches_any(name, (pattern,)) for name in tool_names)
        ]
        if key == "tools" and patterns and len(silent) == len(patterns):
            names = ", ".join(repr(pattern) for pattern in patterns)
            text = f"none of its tools exists: {names}. {_near(patterns, tool_names)}"
            yield Finding("error", role.name, text.strip(), book.place(role.name, (key,)))
            continue
        absent: dict[str, list[int]] = {}
        for index, pattern in silent:
            place = book.place(role.name, (key, index))
            server = pattern.partition("__")[0]
            if pattern in HUB_TOOLS:
                text = f"{pattern!r} does nothing here: the hub adds it where it belongs"
                yield Finding("info", role.name, text, place)
            elif "__" in pattern and server not in servers and not set(server) & set("*?["):
                absent.setdefault(server, []).append(index)
            else:
                text = f"{pattern!r} matches no tool. {_near((pattern,), tool_names)}".strip()
                yield Finding("warning", role.name, text, place)
        for server, indexes in absent.items():
            text = f"no server {server!r}, so nothing for {len(indexes)} of its {key}"
            yield Finding("info", role.name, text, book.place(role.name, (key, indexes[0])))
    if role.tools and not granted(role, tool_names) and _has_any(role, tool_names):
        text = "its disallowed_tools leave it no tool at all"
        yield Finding("error", role.name, text, book.place(role.name, ("disallowed_tools",)))


def check_narrowing(book: RoleBook, role: Role, tool_names: Collection[str]) -> Iterator[Finding]:
    """Check the tools of one role's edges: they have to match, and to leave the child something."""
    servers = {name.partition("__")[0] for name in tool_names}
    for number, edge in enumerate(role.dispatch):
        for index, pattern in enumerate(edge.tools):
            if pattern in HUB_TOOLS or any(matches_any(name, (pattern,)) for name in tool_names):
                continue
            server = pattern.partition("__")[0]
            absent = "__" in pattern and server not in servers and not set(server) & set("*?[")
            text = f"the edge to {edge.role!r}: {pattern!r} matches no tool. "
            advice = f"There is no server {server!r}." if absent else _near((pattern,), tool_names)
            place = book.place(role.name, ("dispatch", number, "tools", index))
            severity: Severity = "info" if absent else "warning"
            yield Finding(severity, role.name, f"{text}{advice}".strip(), place)
        child = book.roles.get(edge.role)
        own = [] if child is None else granted(child, tool_names)
        if edge.tools and own and not any(matches_any(name, edge.tools) for name in own):
            text = f"the edge to {edge.role!r} leaves it no tool at all"
            place = book.place(role.name, ("dispatch", number, "tools"))
            yield Finding("error", role.name, text, place)


def require(findings: Sequence[Finding]) -> None:
    """Stop where there are errors.

    Raises:
        RoleError: naming every error with its place.
    """
    problems = [
        Problem(f"role {finding.role!r}: {finding.message}", str(finding.origin))
        for finding in findings
        if finding.severity == "error"
    ]
    if problems:
        raise fault(RoleError, problems)


def check_edges(book: RoleBook, role: Role) -> Iterator[Finding]:
    """Check one role's edges: each has to lead to a role that there is."""
    for index, edge in enumerate(role.dispatch):
        if edge.role not in book.roles:
            text = f"it may dispatch to {edge.role!r}, which does not exist"
            advice = nearest(edge.role, book.roles.keys())
            place = book.place(role.name, ("dispatch", index))
            yield Finding("error", role.name, f"{text}. {advice}".strip(), place)


def _near(patterns: Sequence[str], tool_names: Collection[str]) -> str:
    advice = (nearest(pattern, tool_names) for pattern in patterns)
    return next((text for text in advice if text), "")


def _has_any(role: Role, tool_names: Collection[str]) -> bool:
    return any(matches_any(name, role.tools) for name in tool_names)


def _schema(book: RoleBook, role: Role) -> Iterator[Finding]:
    if role.report_schema is None:
        return
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    schema: Any = role.report_schema
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        text = f"its report_schema is no JSON Schema: {error.message}"
        yield Finding("error", role.name, text, book.place(role.name, ("report_schema",)))


def _cycles(book: RoleBook) -> Iterator[Finding]:
    for cycle in paths.cycles(book.roles):
        depth = min(book.roles[name].limits.depth for name in cycle)
        severity: Severity = "info" if depth <= Limits().depth else "warning"
        round_way = (*cycle, cycle[0])
        text = (
            f"it can dispatch back to itself: {' → '.join(round_way)}; "
            f"only the depth limit of {depth} ends that"
        )
        yield along(severity, book, round_way, text)


def _unreachable(book: RoleBook) -> Iterator[Finding]:
    starts = [role.name for role in book.roles.values() if role.user_facing]
    reached = set(starts).union(*(paths.routes(book.roles, start) for start in starts))
    for role in book.roles.values():
        if role.name not in reached:
            text = "nobody can start it: it is not user-facing, and no edge leads to it"
            yield Finding("warning", role.name, text, role.origin)
