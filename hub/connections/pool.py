"""The MCP servers of a run: one link each, started together, none in the way of another."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import anyio
import anyio.abc
from mcp import MCPError, types
from pydantic import ValidationError

from hub.connections.link import Link
from hub.connections.opening import Place
from hub.connections.results import outcome_of
from hub.core.errors import ServerError
from hub.core.events import Event
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, Clock, ServerListing
from hub.core.servers import ServerSpec

HARD_MAXIMUM = 10
"""A call that reports progress may take so many times its limit."""
EXIT_CODE_WAIT = 1.5
"""Seconds that a lost call waits to learn how the server's process ended."""
SESSION_LOST = ("session not found", "session terminated")
"""How HTTP servers of the handshake era say that they have forgotten us."""


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
    ) -> None:
        place = Place(workspace, env, resolve)
        self._links = {spec.name: Link(spec, place=place, clock=clock, emit=emit) for spec in specs}
        self._group: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> "ServerPool":
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
        self._group.cancel_scope.cancel()
        return await self._group.__aexit__(kind, error, trace)

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
        link = self.link(server)
        outcome = await self._once(link, tool, arguments, context)
        if outcome.kind == "session_lost":
            outcome = await self._once(link, tool, arguments, context)
        return outcome

    async def _once(
        self, link: Link, tool: str, arguments: dict[str, Any], context: CallContext
    ) -> ToolOutcome:
        try:
            client = await link.client()
        except ServerError as error:
            return _error(f"{error} The call was not run.", "server_unavailable")
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        limit = link.spec.call_timeout
        started = anyio.current_time()
        with anyio.CancelScope(deadline=started + limit) as scope:

            async def told(
                progress: float, total: float | None = None, message: str | None = None
            ) -> None:
                latest = started + limit * HARD_MAXIMUM
                scope.deadline = min(anyio.current_time() + limit, latest)
                context.progress(message or "", progress, total)

            try:
                result = await client.session.send_request(
                    types.CallToolRequest(params=params),
                    types.CallToolResult,
                    progress_callback=told,
                )
            except MCPError as error:
                return await self._refused(link, error)
            except ValidationError as error:
                faults = "; ".join(fault["msg"] for fault in error.errors()[:3])
                return _error(
                    f"The tool ran, but its answer does not follow the protocol: {faults}.",
                    "invalid_result",
                )
            return outcome_of(result)
        return _error(
            f"The tool gave no answer within {limit:g} s and was cancelled; it may have run.",
            "timeout",
        )

    async def _refused(self, link: Link, error: MCPError) -> ToolOutcome:
        text = error.message.lower()
        if any(sign in text for sign in SESSION_LOST):
            link.drop()
            return _error("The server forgot the session; the call was not run.", "session_lost")
        if error.code != types.CONNECTION_CLOSED:
            return _error(f"The server answered: {error.message} ({error.code})", "server_error")
        if link.spec.transport == "stdio":
            with anyio.move_on_after(EXIT_CODE_WAIT):
                await link.watch.closed.wait()
        details = link.watch.describe()
        return _error(
            f"The connection to MCP server {link.spec.name!r} was lost during the call"
            f"{f' ({details})' if details else ''}; the call may have run.",
            "server_lost",
        )


def _error(text: str, kind: str) -> ToolOutcome:
    return ToolOutcome(text, is_error=True, kind=kind)
