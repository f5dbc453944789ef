"""The MCP servers of a run: one link each, started together, none in the way of another."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import anyio
import anyio.abc

from hub.connections.calls import call_tool
from hub.connections.family import Family
from hub.connections.homes import Homes, NotThere
from hub.connections.link import Link
from hub.connections.opening import Place
from hub.connections.reading import get_prompt, read_resource
from hub.connections.records import Records
from hub.connections.tokens import TokenStore
from hub.core.asking import Answers, NoAnswers
from hub.core.errors import ServerError
from hub.core.events import Event
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, Clock, Pins, ServerListing
from hub.core.servers import ServerSpec

UNKNOWN = "server_unavailable"
"""Kind of the outcome of a call to a server that there is not."""
LOOK = 2.0
"""Seconds between two looks whether somebody asks for a restart."""
LEAVE_LIMIT = 0.5
"""Seconds that HTTP servers have to be told that we leave."""
SDK_LOGS = ("mcp", "client")
"""The loggers of the SDK; its client session uses the second one."""
_UNHEARD = logging.NullHandler()


class ServerPool:
    """The Servers port over real connections; a context manager that owns their tasks."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        *,
        workspace: Path,
        env: Mapping[str, str],
        resolve: Callable[[ServerSpec], ServerSpec],
        emit: Callable[[Event], None],
        clock: Clock,
        protocols: Mapping[str, str] = MappingProxyType({}),
        records: Records | None = None,
        idempotent: Callable[[ServerSpec, str], bool] = lambda spec, tool: False,
        pins: Pins | None = None,
        tokens: TokenStore | None = None,
        answers: Answers | None = None,
        homes: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        """Take the servers in.

        ``protocols`` tells which version a server spoke the last time, where no record does;
        ``records`` keeps what becomes of them; ``idempotent`` says whether a call of a tool was
        approved as one that may be repeated; ``tokens`` holds the sign-ins at remote servers;
        ``answers`` answers what servers ask; ``homes`` are the workspaces of agents that have one
        of their own, by their paths, and may grow.
        """
        place = Place(workspace, env, resolve, tokens, clock, answers or NoAnswers(), emit)
        self._families = {
            spec.name: Family(
                spec,
                place=place,
                clock=clock,
                emit=emit,
                protocol=protocols.get(spec.name, ""),
                records=records,
                own=self._own,
                pins=pins,
            )
            for spec in specs
        }
        self._homes = Homes(workspace, homes)
        self._clock = clock
        self._records = records
        self._idempotent = idempotent
        self._group: anyio.abc.TaskGroup | None = None
        self._over = False

    async def __aenter__(self) -> "ServerPool":
        # Where nobody listens, Python would print the SDK's warnings, with tracebacks, on stderr.
        for name in SDK_LOGS:
            logging.getLogger(name).addHandler(_UNHEARD)
        self._group = await anyio.create_task_group().__aenter__()
        for family in self._families.values():
            self._group.start_soon(family.base.run)
        if self._records is not None:
            self._group.start_soon(self._look)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._group is not None
        self._over = True
        try:
            if error is None:
                await self._leave()
        finally:
            self._group.cancel_scope.cancel()
            result = await self._group.__aexit__(kind, error, trace)
        return result

    async def _leave(self) -> None:
        """Tell HTTP servers that their sessions are over; the others notice by themselves."""
        with anyio.move_on_after(LEAVE_LIMIT):
            async with anyio.create_task_group() as group:
                for family in self._families.values():
                    if family.spec.transport == "http":
                        for link in family.links():
                            group.start_soon(link.leave)

    async def _look(self) -> None:
        """See requests for restarts also while nobody calls."""
        while True:
            await self._clock.sleep(LOOK)
            for family in self._families.values():
                if any(link.connection is not None for link in family.links()):
                    family.look()

    def _own(self, link: Link) -> None:
        """Run the owner task of a link that was made for an agent."""
        if self._group is None or self._over:
            link.close()
        else:
            self._group.start_soon(link.run)

    def family(self, server: str) -> Family:
        """Return the links to a server.

        Raises:
            ServerError: there is none of this name.
        """
        if server not in self._families:
            raise ServerError(f"there is no MCP server {server!r}", server=server)
        return self._families[server]

    def link(self, server: str) -> Link:
        """Return the link to a server that serves all agents.

        Raises:
            ServerError: there is none of this name.
        """
        return self.family(server).base

    def warm(self) -> None:
        """Start every server in the background."""
        for family in self._families.values():
            family.base.demand()

    def release(self, agent: str) -> None:
        """End the processes and sessions that were kept for one agent."""
        for family in self._families.values():
            family.release(agent)
        self._homes.release(agent)

    async def leave(self, agent: str) -> None:
        """End every server over the workspace that an agent had to itself, and wait for it."""
        await self._homes.close(agent)

    async def listing(self, server: str) -> ServerListing:
        """Connect if need be and return what the server offers.

        Raises:
            ServerError: it did not start, or not within its limit.
        """
        return await self.family(server).listing()

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], context: CallContext
    ) -> ToolOutcome:
        """Call a tool. A server that is gone or silent gives an error outcome, not an exception."""
        family = self._families.get(server)
        if family is None:
            return ToolOutcome(f"There is no MCP server {server!r}.", is_error=True, kind=UNKNOWN)
        try:
            link = self._homes.family(family, context.agent).link_for(context.agent)
        except NotThere as error:
            text = f"MCP server {server!r}: {error}. The call did not run."
            return ToolOutcome(text, is_error=True, kind=UNKNOWN)
        return await call_tool(link, tool, arguments, context, self._idempotent)

    async def read_resource(self, server: str, uri: str) -> tuple[dict[str, Any], ...]:
        """Return the contents of a resource.

        Raises:
            ServerError: the server is gone, silent, or refuses.
        """
        return await read_resource(self.family(server).any(), uri)

    async def get_prompt(
        self, server: str, prompt: str, arguments: Mapping[str, str]
    ) -> tuple[dict[str, Any], ...]:
        """Return the messages of a prompt.

        Raises:
            ServerError: the server is gone, silent, or refuses.
        """
        return await get_prompt(self.family(server).any(), prompt, arguments)
