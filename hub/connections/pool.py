"""The MCP servers of a run: one link each, started together, none in the way of another."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import anyio
import anyio.abc

from hub.connections.calls import call_tool
from hub.connections.link import Link
from hub.connections.opening import Place
from hub.connections.reading import get_prompt, read_resource
from hub.core.errors import ServerError
from hub.core.events import Event
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, Clock, ServerListing
from hub.core.servers import ServerSpec

UNKNOWN = "server_unavailable"
"""Kind of the outcome of a call to a server that there is not."""
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
    ) -> None:
        """Take the servers in; ``protocols`` tells which version a server spoke the last time."""
        place = Place(workspace, env, resolve)
        self._links = {
            spec.name: Link(
                spec, place=place, clock=clock, emit=emit, protocol=protocols.get(spec.name, "")
            )
            for spec in specs
        }
        self._group: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> "ServerPool":
        # Where nobody listens, Python would print the SDK's warnings, with tracebacks, on stderr.
        for name in SDK_LOGS:
            logging.getLogger(name).addHandler(_UNHEARD)
        self._group = await anyio.create_task_group().__aenter__()
        for link in self._links.values():
            self._group.start_soon(link.run)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._group is not None
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
                for link in self._links.values():
                    if link.spec.transport == "http":
                        group.start_soon(link.leave)

    def link(self, server: str) -> Link:
        """Return the link to a server.

        Raises:
            ServerError: there is none of this name.
        """
        if server not in self._links:
            raise ServerError(f"there is no MCP server {server!r}", server=server)
        return self._links[server]

    def warm(self) -> None:
        """Start every server in the background."""
        for link in self._links.values():
            link.demand()

    async def listing(self, server: str) -> ServerListing:
        """Connect if need be and return the server's tools.

        Raises:
            ServerError: it did not start, or not within its limit.
        """
        return await self.link(server).listing()

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], context: CallContext
    ) -> ToolOutcome:
        """Call a tool. A server that is gone or silent gives an error outcome, not an exception."""
        link = self._links.get(server)
        if link is None:
            return ToolOutcome(f"There is no MCP server {server!r}.", is_error=True, kind=UNKNOWN)
        return await call_tool(link, tool, arguments, context)

    async def read_resource(self, server: str, uri: str) -> tuple[dict[str, Any], ...]:
        """Return the contents of a resource.

        Raises:
            ServerError: the server is gone, silent, or refuses.
        """
        return await read_resource(self.link(server), uri)

    async def get_prompt(
        self, server: str, prompt: str, arguments: Mapping[str, str]
    ) -> tuple[dict[str, Any], ...]:
        """Return the messages of a prompt.

        Raises:
            ServerError: the server is gone, silent, or refuses.
        """
        return await get_prompt(self.link(server), prompt, arguments)
