"""Ways to more than a role may do itself: facts to know, told with the path. Pure."""

from collections.abc import Collection, Iterator

from hub.core.team import Role
from hub.roles.finding import Finding, along
from hub.roles.load import RoleBook
from hub.roles.matrix import granted
from hub.roles.ways import ways

WRITERS = frozenset({"files__write", "files__edit", "shell__run"})
"""Bundled tools that change files or run programs."""
RUNNERS = frozenset({"shell__run"})
"""Bundled tools that run programs."""


def escalations(
    book: RoleBook, tool_names: Collection[str], writers: Collection[str]
) -> Iterator[Finding]:
    """Yield what readers reach that writes, and who runs commands by what it writes."""
    for role in book.roles.values():
        own = granted(role, tool_names)
        writing = [name for name in own if name in writers]
        if writing:
            yield from _by_acceptance(book, role, own, writing)
        else:
            yield from _by_dispatch(book, role, tool_names, writers)


def _by_dispatch(
    book: RoleBook, role: Role, tool_names: Collection[str], writers: Collection[str]
) -> Iterator[Finding]:
    for target, found in ways(book.roles, role.name, tool_names).items():
        way = next((way for way in found if way.tools & set(writers)), None)
        if target != role.name and way is not None:
            tools = ", ".join(name for name in tool_names if name in way.tools & set(writers))
            text = (
                f"it has no tool that changes anything, but reaches one that has "
                f"({tools}): {' → '.join(way.roles)}"
            )
            yield along("info", book, way.roles, text)


def _by_acceptance(
    book: RoleBook, role: Role, own: Collection[str], writing: Collection[str]
) -> Iterator[Finding]:
    if role.acceptance.command and not RUNNERS.intersection(own):
        text = (
            f"it may not run commands, but its acceptance runs {role.acceptance.command!r} in the "
            f"workspace, over what it may change ({', '.join(writing)})"
        )
        yield Finding("info", role.name, text, book.place(role.name, ("acceptance",)))
