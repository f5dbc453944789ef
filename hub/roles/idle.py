"""Tools that are there and that no role comes to. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping

from hub.core.team import Origin
from hub.roles.finding import Finding
from hub.roles.load import RoleBook
from hub.roles.ways import ways

SHOWN = 8
"""Names of tools that one finding lists."""


def idle_tools(
    book: RoleBook,
    tools: Collection[str],
    others: Mapping[str, tuple[str, ...]],
    place_of: Callable[[str], Origin],
) -> Iterator[Finding]:
    """Yield, for each server, its tools that no role has which somebody can start.

    ``others`` are further names of tools, by which roles may speak of them; ``place_of`` says where
    the entry of a server stands.
    """
    names = [*tools, *(name for more in others.values() for name in more)]
    reached: set[str] = set()
    for role in book.roles.values():
        if role.user_facing:
            found = ways(book.roles, role.name, names).values()
            reached.update(name for several in found for way in several for name in way.tools)
    idle: dict[str, list[str]] = {}
    for tool in tools:
        if reached.isdisjoint((tool, *others.get(tool, ()))):
            idle.setdefault(tool.partition("__")[0], []).append(tool)
    for server, unused in idle.items():
        more = f" and {len(unused) - SHOWN} more" if len(unused) > SHOWN else ""
        listed = ", ".join(unused[:SHOWN]) + more
        text = f"no role that anybody can start has a use for: {listed}"
        yield Finding("info", "", text, place_of(server))
