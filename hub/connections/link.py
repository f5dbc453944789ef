"""One MCP server is one owner task: it connects, holds the client, and lets it go.

Everybody else asks the link for the client. The server starts with the first demand, and again
with the first demand after it has died, at most a few times a minute.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import anyio.lowlevel
from mcp import Client, MCPError, types
from mcp.client.subscriptions import ToolsListChanged

from hub.connections.listing import list_tools
from hub.connections.opening import Place, open_server
from hub.connections.restarts import MAX_STARTS, Restarts
from hub.connections.watch import Watch
from hub.core import events as ev
from hub.core.errors import HubError, ServerError
from hub.core.listings import listing_change
from hub.core.ports import Clock, ServerListing
from hub.core.servers import ServerSpec
from hub.version import __version__
from hub_servers.processes import LaunchError

State = Literal["discovered", "starting", "connected", "failed", "crash-loop"]


@dataclass(slots=True)
class Attempt:
    """One start, and all who wait for it."""

    over: anyio.Event = field(default_factory=anyio.Event)
    """The server is up, or it has failed to start."""
    error: ServerError | None = None
    """Why it failed."""
    finished: anyio.Event = field(default_factory=anyio.Event)
    """The connection that came of it has ended, too."""


class Link:
    """The connection to one server."""

    def __init__(
        self, spec: ServerSpec, *, place: Place, clock: Clock, emit: Callable[[ev.Event], None]
    ) -> None:
        self.spec = spec
        self.state: State = "discovered"
        self.error = ""
        """Why the latest start failed or the connection ended."""
        self.watch = Watch()
        """The latest process of the server."""
        self._place = place
        self._clock = clock
        self._emit = emit
        self._restarts = Restarts(clock)
        self._mode: Literal["auto", "legacy"] = "auto"
        self._client: Client | None = None
        self._listing: ServerListing | None = None
        self._attempt: Attempt | None = None
        self._demand = anyio.Event()
        self._drop = anyio.Event()
        self._relist = anyio.Event()

    async def run(self) -> None:
        """Own the connection until the surrounding task group is cancelled."""
        while True:
            await self._demand.wait()
            self._demand = anyio.Event()
            attempt = self._attempt
            if attempt is None:
                continue
            try:
                await self._session(attempt)
            finally:
                self._client = self._attempt = None
                attempt.finished.set()

    async def client(self) -> Client:
        """Return the live client, starting the server if need be.

        Raises:
            ServerError: it does not start, or has been started too often.
        """
        while self._client is None:
            attempt = self._attempt
            if attempt is None:
                if wait := self._restarts.wait():
                    self.state = "crash-loop"
                    raise self._fault(
                        f"it was started {MAX_STARTS} times within a minute and did not stay up; "
                        f"the next try is possible in {wait:.0f} s"
                    )
                attempt = self._attempt = Attempt()
                self._demand.set()
            await attempt.over.wait()
            if attempt.error is not None:
                raise attempt.error
            if self._client is None:
                await attempt.finished.wait()
        return self._client

    async def listing(self) -> ServerListing:
        """Return the server's tools, starting it if need be.

        Raises:
            ServerError: it does not start.
        """
        await self.client()
        if self._listing is None:
            raise self._fault("it went away before its tools were listed")
        return self._listing

    def demand(self) -> None:
        """Start the server in the background, unless it is up or may not be started now."""
        if self._client is None and self._attempt is None and not self._restarts.wait():
            self._attempt = Attempt()
            self._demand.set()

    def drop(self) -> None:
        """Let the connection go: it is of no use any more."""
        self._client = None
        self._drop.set()

    async def _session(self, attempt: Attempt) -> None:
        self.state, started = "starting", self._clock.monotonic()
        for mode in ("auto", "legacy") if self._mode == "auto" else ("legacy",):
            self._restarts.started()
            self.watch, self._drop = Watch(), anyio.Event()
            fault = await self._guarded(mode, attempt, started)
            if attempt.over.is_set():
                self._ended(fault)
                return
            if not (mode == "auto" and _died_of_probe(fault)):
                break
            self._mode = "legacy"
        self._failed(attempt, fault)

    async def _guarded(self, mode: Any, attempt: Attempt, started: float) -> BaseException | None:
        """Run one connection to its end; return what ended it."""
        cancelled = anyio.get_cancelled_exc_class()
        try:
            await self._connect(mode, attempt, started)
        except cancelled:
            raise
        except (Exception, BaseExceptionGroup) as error:
            leaves = _leaves(error)
            if any(isinstance(leaf, KeyboardInterrupt | SystemExit) for leaf in leaves):
                raise
            await anyio.lowlevel.checkpoint()
            return leaves[0]
        return None

    async def _connect(self, mode: Any, attempt: Attempt, started: float) -> None:
        limit = self.spec.start_timeout
        with anyio.CancelScope() as connecting:
            connecting.deadline = anyio.current_time() + limit
            async with Client(
                open_server(self.spec, self._place, self.watch),
                mode=mode,
                client_info=types.Implementation(name="hub", version=__version__),
                logging_callback=self._logged,
                message_handler=self._told,
                cache=None,
            ) as client:
                await self._list(client)
                connecting.deadline = float("inf")
                self._up(client, attempt, started)
                try:
                    await self._hold(client)
                finally:
                    self._client = None
        if connecting.cancelled_caught and not attempt.over.is_set():
            raise TimeoutError(f"it did not answer the handshake within {limit:g} s")

    async def _list(self, client: Client) -> None:
        tools, warnings = await list_tools(client.session)
        info = client.server_info
        self._listing = ServerListing(
            server=self.spec.name,
            protocol=client.protocol_version or "",
            tools=tools,
            version=info.version if info else "",
            instructions=client.instructions or "",
            warnings=warnings,
        )

    def _up(self, client: Client, attempt: Attempt, started: float) -> None:
        assert self._listing is not None
        self._client, self.state, self.error = client, "connected", ""
        self._emit(
            ev.ServerConnected(
                server=self.spec.name,
                protocol=self._listing.protocol,
                tools=len(self._listing.tools),
                duration_ms=round((self._clock.monotonic() - started) * 1000),
            )
        )
        attempt.over.set()

    async def _hold(self, client: Client) -> None:
        """Stay until the process ends, somebody drops the connection, or the pool closes."""
        async with anyio.create_task_group() as group:

            async def leave_on(event: anyio.Event) -> None:
                await event.wait()
                group.cancel_scope.cancel()

            group.start_soon(leave_on, self.watch.closed)
            group.start_soon(leave_on, self._drop)
            group.start_soon(self._follow, client)
            group.start_soon(self._subscribe, client)

    async def _follow(self, client: Client) -> None:
        """List the tools anew when the server says that they changed; once for a storm of it."""
        while True:
            await self._relist.wait()
            await anyio.sleep(0.1)
            self._relist = anyio.Event()
            before = self._listing
            with suppress(MCPError, ValueError):
                await self._list(client)
            if before is not None and self._listing is not None:
                self._compare(before, self._listing)

    async def _subscribe(self, client: Client) -> None:
        """Listen for changes where the protocol has a stream for them."""
        if client.protocol_version not in types.version.MODERN_PROTOCOL_VERSIONS:
            return
        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        with suppress(MCPError):
            async with client.listen(tools_list_changed=True) as changes:
                async for change in changes:
                    if isinstance(change, ToolsListChanged):
                        self._relist.set()

    def _compare(self, before: ServerListing, now: ServerListing) -> None:
        if (change := listing_change(before, now)) is not None:
            self._emit(change)

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        self._emit(
            ev.ServerLog(server=self.spec.name, level=str(params.level), text=str(params.data))
        )

    async def _told(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._relist.set()

    def _ended(self, fault: BaseException | None) -> None:
        self.state = "failed"
        self.error = self._reason(fault)
        self._emit(
            ev.ServerFailed(server=self.spec.name, error=self.error, stderr=self.watch.tail())
        )

    def _failed(self, attempt: Attempt, fault: BaseException | None) -> None:
        self._ended(fault)
        attempt.error = self._fault(self.error)
        attempt.over.set()

    def _reason(self, fault: BaseException | None) -> str:
        if isinstance(fault, HubError):
            return str(fault)
        if isinstance(fault, LaunchError | TimeoutError):
            text = str(fault)
        elif isinstance(fault, MCPError):
            text = "the connection closed" if _is_closed(fault) else f"it answered: {fault.message}"
        else:
            text = f"{type(fault).__name__}: {fault}" if fault else "the connection ended"
        details = self.watch.describe()
        return f"{text} ({details})" if details else text

    def _fault(self, text: str) -> ServerError:
        return ServerError(
            f"MCP server {self.spec.name!r}: {text}",
            server=self.spec.name,
            where=str(self.spec.origin),
        )


def _is_closed(error: MCPError) -> bool:
    return error.code == types.CONNECTION_CLOSED


def _died_of_probe(fault: BaseException | None) -> bool:
    """Say whether a server may have ended because it does not know the modern handshake."""
    return isinstance(fault, MCPError) and _is_closed(fault)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
