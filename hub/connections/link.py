"""One MCP server is one owner task: it connects, holds the client, and lets it go.

Everybody else asks the link for the client. The server starts with the first demand, and again
with the first demand after it has died; a process at most a few times a minute.
"""

import json
from collections.abc import Callable
from typing import Any, Literal

import anyio
import anyio.lowlevel
from mcp import Client, MCPError, types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from hub.connections.changes import Changes
from hub.connections.connection import Attempt, Connection
from hub.connections.faults import is_closed, leaves, reason_of, remedy_for, telling_leaf
from hub.connections.listing import list_server
from hub.connections.opening import Place, open_server
from hub.connections.restarts import MAX_STARTS, Restarts
from hub.connections.watch import Watch
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.listings import listing_change
from hub.core.ports import Clock, ServerListing
from hub.core.servers import ServerSpec
from hub.version import __version__

State = Literal["discovered", "starting", "connected", "failed", "crash-loop"]
Mode = Literal["auto", "legacy"]


class Link:
    """The way to one server."""

    def __init__(
        self,
        spec: ServerSpec,
        *,
        place: Place,
        clock: Clock,
        emit: Callable[[ev.Event], None],
        protocol: str = "",
    ) -> None:
        self.spec = spec
        self.state: State = "discovered"
        self.error = ""
        """Why the latest start failed or the connection ended."""
        self.watch = Watch()
        """The latest process of the server."""
        self.connection: Connection | None = None
        """What calls go through while the server is up."""
        self._place = place
        self._clock = clock
        self._emit = emit
        self._restarts = Restarts(clock)
        self._legacy = bool(protocol) and protocol not in MODERN_PROTOCOL_VERSIONS
        self._listing: ServerListing | None = None
        self._attempt: Attempt | None = None
        self._demand = anyio.Event()
        self._closed = False

    async def run(self) -> None:
        """Own the connection until the surrounding task group is cancelled."""
        try:
            while True:
                await self._demand.wait()
                self._demand = anyio.Event()
                if (attempt := self._attempt) is not None:
                    try:
                        await self._start(attempt)
                    finally:
                        self.connection = self._attempt = None
                        attempt.fail(self._fault("it is being stopped"))
                        attempt.finished.set()
        finally:
            self._closed = True

    async def connect(self) -> Connection:
        """Return the live connection, starting the server if need be.

        Raises:
            ServerError: it does not start in time, or has been started too often.
        """
        while self.connection is None:
            attempt = self._attempt or self._begin()
            if not await attempt.settled():
                raise self._fault(self._silence())
            if attempt.error is not None:
                raise attempt.error
            if self.connection is None:
                await attempt.finished.wait()
        return self.connection

    async def listing(self) -> ServerListing:
        """Return the server's tools, starting it if need be.

        Raises:
            ServerError: it does not start.
        """
        await self.connect()
        if self._listing is None:
            raise self._fault("it went away before its tools were listed")
        return self._listing

    def demand(self) -> None:
        """Start the server in the background, unless it has been started before."""
        if self.state == "discovered" and self._attempt is None and not self._closed:
            self._begin()

    def drop(self, connection: Connection) -> None:
        """Let a connection go that is of no use any more."""
        connection.end()
        if self.connection is connection:
            self.connection = None

    async def idle(self) -> None:
        """Wait until no start and no connection is under way."""
        if (attempt := self._attempt) is not None:
            await attempt.finished.wait()

    async def leave(self) -> None:
        """Let the connection go, if there is one, and wait for its end."""
        if (connection := self.connection) is not None:
            self._closed = True
            self.drop(connection)
            await connection.attempt.finished.wait()

    def _begin(self) -> Attempt:
        if self._closed:
            raise self._fault("it is being stopped")
        if wait := self._restarts.wait():
            self.state = "crash-loop"
            raise self._fault(
                f"it was started {MAX_STARTS} times within a minute and did not stay up; the next "
                f"try is possible in {wait:.0f} s. At last: {self.error or 'it ended'}"
            )
        self._attempt = Attempt(anyio.current_time() + self.spec.start_timeout)
        self._demand.set()
        return self._attempt

    async def _start(self, attempt: Attempt) -> None:
        self.state, fault = "starting", None
        for mode in self._modes():
            if self.spec.transport == "stdio":
                self._restarts.started()
            self.watch = Watch()
            fault = await self._guarded(mode, attempt)
            if attempt.over.is_set():
                self._ended(fault)
                return
            if not _speaks_otherwise(fault, mode) or self._restarts.wait():
                break
        self._ended(fault)
        attempt.fail(self._fault(self.error))

    def _modes(self) -> tuple[Mode, ...]:
        """Return how to greet the server: as it was understood before, then the other way."""
        if self.spec.transport == "memory":
            return ("auto",)
        return ("legacy", "auto") if self._legacy else ("auto", "legacy")

    async def _guarded(self, mode: Mode, attempt: Attempt) -> BaseException | None:
        """Run one connection to its end; return what ended it."""
        cancelled = anyio.get_cancelled_exc_class()
        try:
            await self._connected(mode, attempt)
        except cancelled:
            raise
        except (Exception, BaseExceptionGroup) as error:
            if any(isinstance(leaf, KeyboardInterrupt | SystemExit) for leaf in leaves(error)):
                raise
            await anyio.lowlevel.checkpoint()
            attempt.fault = telling_leaf(error)
            return attempt.fault
        finally:
            self.connection = None
        return None

    async def _connected(self, mode: Mode, attempt: Attempt) -> None:
        changes, started = Changes(self._clock), self._clock.monotonic()
        with anyio.CancelScope(deadline=attempt.deadline) as connecting:
            async with Client(
                open_server(self.spec, self._place, self.watch),
                mode=mode,
                client_info=types.Implementation(name="hub", version=__version__),
                logging_callback=self._logged,
                message_handler=changes.told,
                cache=None,
            ) as client:
                connection = Connection(client, self.watch, attempt)
                async with anyio.create_task_group() as group:
                    group.start_soon(changes.listen, client)
                    await changes.ready(client)
                    self._listing = await list_server(client, self.spec.name)
                    connecting.deadline = float("inf")
                    group.start_soon(changes.follow, client, self._listing, self._changed)
                    self._up(connection, self._listing, started)
                    await connection.hold()
                    self.connection = None
                    if self.spec.transport == "http" and not self._closed:
                        await connection.settle()
                    group.cancel_scope.cancel()
        if connecting.cancelled_caught and not attempt.over.is_set():
            raise TimeoutError(self._silence())

    def _up(self, connection: Connection, listing: ServerListing, started: float) -> None:
        self.connection, self.state, self.error = connection, "connected", ""
        self._legacy = listing.protocol not in MODERN_PROTOCOL_VERSIONS
        self._emit(
            ev.ServerConnected(
                server=self.spec.name,
                protocol=listing.protocol,
                tools=len(listing.tools),
                duration_ms=round((self._clock.monotonic() - started) * 1000),
            )
        )
        connection.attempt.succeed()

    def _changed(self, now: ServerListing) -> None:
        before, self._listing = self._listing, now
        if before is not None and (change := listing_change(before, now)) is not None:
            self._emit(change)

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        self._emit(
            ev.ServerLog(server=self.spec.name, level=str(params.level), text=_said(params.data))
        )

    def _ended(self, fault: BaseException | None) -> None:
        self.error = reason_of(fault, self.watch)
        if self._closed:
            return
        self.state = "failed"
        self._emit(
            ev.ServerFailed(
                server=self.spec.name,
                error=self.error,
                where=str(self.spec.origin),
                remedy=remedy_for(fault, self.spec.name),
                stderr=self.watch.tail(),
            )
        )

    def _silence(self) -> str:
        return (
            f"it did not answer within {self.spec.start_timeout:g} s of its start; if it needs "
            f"longer, raise servers.{self.spec.name}.start_timeout"
        )

    def _fault(self, text: str) -> ServerError:
        return ServerError(
            f"MCP server {self.spec.name!r}: {text}",
            server=self.spec.name,
            where=str(self.spec.origin),
        )


def _speaks_otherwise(fault: BaseException | None, mode: Mode) -> bool:
    """Say whether a server may have failed because it was greeted in the wrong protocol."""
    return is_closed(fault) if mode == "auto" else isinstance(fault, MCPError)


def _said(data: Any) -> str:
    """Return what a server logged as text; much of it is JSON."""
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
