"""Workspaces that some agents have to themselves, with everybody below them.

Servers that run on this machine are started anew over such a workspace, when they are first
called; remote ones stay those of everybody.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path

import anyio

from hub.connections.family import Family
from hub.connections.link import Link
from hub.core.servers import ServerSpec

LOCAL = ("memory", "stdio")
"""How servers are reached that work on files of this machine."""


class NotThere(Exception):
    """A server cannot work in the workspace of an agent; the message says why."""


class Homes:
    """The servers of agents with workspaces of their own."""

    def __init__(self, workspace: Path, places: Mapping[str, Path]) -> None:
        """Take in where agents have their workspaces, by path; it may grow at any time."""
        self._workspace = workspace
        self._places = places
        self._families: MutableMapping[str, dict[str, Family]] = {}
        self._gone: set[str] = set()

    def family(self, family: Family, agent: str) -> Family:
        """Return the links to a server that an agent's calls take.

        Raises:
            NotThere: the server would work elsewhere, or the agent's work is over.
        """
        home = self._home(agent) if self._places else ""
        if not home or family.spec.transport not in LOCAL:
            return family
        if home in self._gone:
            raise NotThere("the work tree that it would work in has been removed")
        if given := _folder_in(self._workspace, family.spec):
            raise NotThere(f"it is given {given} by its path and cannot work in a work tree")
        here = self._families.setdefault(home, {})
        if family.spec.name not in here:
            here[family.spec.name] = family.over(self._places[home])
        return here[family.spec.name]

    def release(self, agent: str) -> None:
        """End what was kept for an agent."""
        for family in self._families.get(self._home(agent), {}).values():
            family.release(agent)

    async def close(self, agent: str) -> None:
        """End every server over an agent's workspace, and wait until they have ended."""
        self._gone.add(agent)
        links = [
            link for family in self._families.pop(agent, {}).values() for link in family.links()
        ]
        async with anyio.create_task_group() as group:
            for link in links:
                group.start_soon(_ended, link)

    def _home(self, agent: str) -> str:
        """Return whose workspace an agent works in: its own, or that of who is nearest above it."""
        return next((path for path in _upwards(agent) if path in self._places), "")


async def _ended(link: Link) -> None:
    link.close()
    await link.at_rest()


def _upwards(agent: str) -> Iterator[str]:
    while agent:
        yield agent
        agent = agent.rpartition("/")[0]


def _folder_in(workspace: Path, spec: ServerSpec) -> str:
    """Return a folder of the workspace that a server is given by its whole path, if it is."""
    root = workspace.resolve()
    for text in (*spec.args, *spec.env.values(), spec.cwd):
        given = text.rpartition("=")[2]
        if not given.startswith("/"):
            continue
        try:
            path = Path(given).resolve()
            if path.is_relative_to(root) and path.is_dir():
                return given
        except (OSError, RuntimeError, ValueError):
            continue
    return ""
