"""One MCP server is one owner task: it connects, holds the client, and lets it go.

Everybody else asks the link for the client. The server starts with the first demand, and again
with the first demand after it has ended: because nobody needed it, or because it died, then a
process at most a few times a minute. One that takes longer than its limit is reported as failed to
those who wait and goes on starting behind their backs.
"""

from collections.abc import Callable

import anyio
import anyio.lowlevel

from hub.connections.connection import Attempt, Connection, Purpose, begin
from hub.connections.faults import leaves, telling_leaf
from hub.connections.holding import (
    Mode,
    Wiring,
    hold_connection,
    modes,
    silence,
    speaks_otherwise,
)
from hub.connections.life import Life
from hub.connections.opening import Place
from hub.connections.records import ALIVE
from hub.connections.restarts import MAX_STARTS
from hub.connections.watch import Watch
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.ports import Clock, ServerListing
from hub.core.servers import ServerSpec

NEARLY = 0.1
"""Part of the wait by which a start may fail early and still count as one that took all of it."""


class Link:
    """The way to one server."""

    def __init__(
        self, spec: ServerSpec, *, place: Place, clock: Clock, emit: Callable[[ev.Event], None],
        life: Life, hear: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        """Take in the server; ``hear`` is told what it writes to standard error."""
        self.spec = spec
        self.life = life
        """What is known of it over all its starts."""
        self.watch = Watch()
        """The latest process of the server."""
        self.connection: Connection | None = None
        """What calls go through while the server is up."""
        self.turn = anyio.Lock() if spec.serial else None
        """Held by the one call that a serial server takes at a time."""
        self.owned = False
        """It belongs to one agent, whose state it keeps, so it is not stopped while idle."""
        self._clock = clock
        self._emit = emit
        self._hear = hear
        self._attempt: Attempt | None = None
        self._mute = False
        """The latest start came to nothing, and took as long as it may."""
        self._demand = anyio.Event()
        self._scope = anyio.CancelScope()
        self._closed = False
        self._wiring = Wiring(
            spec=spec, place=place, clock=clock, logged=life.logged, up=self._up,
            changed=life.changed, idle=self._idle, deadly=set(),
        )  # fmt: skip

    @property
    def state(self) -> str:
        """Where the server is on its way."""
        return self.life.state

    @property
    def error(self) -> str:
        """Why the latest start failed or the connection ended."""
        return self.life.error

    async def run(self) -> None:
        """Own the connection until the link is given up or the surrounding group is cancelled."""
        try:
            with self._scope:
                while not self._closed:
                    await self._demand.wait()
                    self._demand = anyio.Event()
                    if (attempt := self._attempt) is not None:
                        await self._live(attempt)
        finally:
            self._closed = True
            if self.state in ALIVE:
                self.life.rests("stopped", self.watch)

    async def connect(self) -> Connection:
        """Return the live connection, starting the server if need be.

        Raises:
            ServerError: it does not start in time, or has been started too often.
        """
        while self.connection is None:
            attempt = self._attempt or self._begin()
            if not await attempt.settled():
                raise self._fault(self._late(attempt))
            if attempt.error is not None:
                raise attempt.error
            if self.connection is None:
                await attempt.finished.wait()
        return self.connection

    async def listing(self) -> ServerListing:
        """Return what the server offers, starting it unless it is known and merely rests.

        Raises:
            ServerError: it does not start.
        """
        if self.state != "idle" or self.life.listing is None:
            await self.connect()
        if self.life.listing is None:
            raise self._fault("it went away before its tools were listed")
        return self.life.listing

    def demand(self) -> None:
        """Start the server in the background, unless it has been started before."""
        if self.state == "discovered" and self._attempt is None and not self._closed:
            self._begin()

    def drop(self, connection: Connection) -> None:
        """Let a connection go that is of no use any more."""
        connection.end()
        if self.connection is connection:
            self.connection = None

    def restart(self) -> None:
        """End the server and start it anew, however often it has failed; never one not started."""
        self.life.restarts.reset()
        self._wiring.deadly.clear()
        self._mute = False
        if (attempt := self._attempt) is None:
            if self.state != "discovered" and not self._closed:
                self._begin()
        elif self.connection is not None:
            self._stop(self.connection, "restart")
        else:
            attempt.purpose = "restart"
            attempt.scope.cancel()

    async def at_rest(self) -> None:
        """Wait until no start and no connection is under way."""
        if (attempt := self._attempt) is not None:
            await attempt.finished.wait()

    def close(self) -> None:
        """Give the link up: end its connection in order, or at once where there is none."""
        self._closed = True
        if self.connection is None:
            self._scope.cancel()
        else:
            self.connection.attempt.leaving = True
            self.drop(self.connection)

    async def leave(self) -> None:
        """Give the link up, and wait for the end of its connection if it has one."""
        if (connection := self.connection) is not None:
            self.close()
            await connection.attempt.finished.wait()

    def _idle(self, connection: Connection) -> None:
        if not self._keeps_state():
            self._stop(connection, "idle")

    def _stop(self, connection: Connection, purpose: Purpose) -> None:
        connection.attempt.purpose = purpose
        self.drop(connection)

    def _begin(self) -> Attempt:
        if self._closed:
            raise self._fault("it is being stopped")
        if wait := self.life.restarts.wait():
            self.life.refused()
            raise self._fault(
                f"it was started {MAX_STARTS} times within a minute and did not stay up; the next "
                f"try is possible in {wait:.0f} s, or now after: hub mcp restart {self.spec.name}\n"
                f"At last: {self.error or 'it ended'}"
            )
        self._attempt = begin(self.spec, self._clock, mute=self._mute)
        self._demand.set()
        return self._attempt

    async def _live(self, attempt: Attempt) -> None:
        try:
            self.life.starting()
            await self._start(attempt)
        finally:
            self.connection = self._attempt = None
            if attempt.purpose == "restart":
                attempt.over.set()
            else:
                attempt.fail(self._fault("it is being stopped"))
            attempt.finished.set()
        if attempt.purpose == "restart" and not self._closed:
            self._begin()

    async def _start(self, attempt: Attempt) -> None:
        fault: BaseException | None = None
        with attempt.scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch_deadline, attempt)
                fault = await self._greeted(attempt)
                group.cancel_scope.cancel()
        if attempt.purpose or self._closed:
            if attempt.purpose == "idle":
                self.life.restarts.forgive()
            if not self._closed:
                self.life.rests("idle", self.watch)
            return
        if attempt.up_since is not None:
            self.life.restarts.ended(self._clock.monotonic() - attempt.up_since)
        self.life.failed(fault, self.watch)
        spent = anyio.current_time() >= attempt.deadline - attempt.patience * NEARLY
        self._mute = spent and attempt.up_since is None
        attempt.fail(self._fault(self.error))

    async def _watch_deadline(self, attempt: Attempt) -> None:
        """Report a start that takes too long, and let it go on."""
        await anyio.sleep_until(attempt.deadline)
        if not attempt.over.is_set():
            self._late(attempt)

    def _late(self, attempt: Attempt) -> str:
        """Report once that a start takes too long; return what is said of it."""
        goes_on = attempt.limit > attempt.deadline
        text = silence(self.spec, attempt.patience, goes_on=goes_on)
        if goes_on and not attempt.late:
            attempt.late = True
            self.life.late(text, self.watch)
        return text

    async def _greeted(self, attempt: Attempt) -> BaseException | None:
        """Connect in the one way or the other; return what ended the connection at last."""
        fault: BaseException | None = None
        for mode in modes(self.spec, legacy=self.life.legacy):
            if self.spec.transport == "stdio":
                self.life.restarts.started()
            attempt.assumed = self.life.legacy and mode == "legacy"
            self.watch = Watch(self._hear)
            fault = await self._guarded(mode, attempt)
            if attempt.over.is_set() or not speaks_otherwise(fault, mode):
                break
            if self.life.restarts.recent() >= MAX_STARTS:
                break
        return fault

    async def _guarded(self, mode: Mode, attempt: Attempt) -> BaseException | None:
        """Run one connection to its end; return what ended it."""
        cancelled = anyio.get_cancelled_exc_class()
        limit = None if self._keeps_state() else self.spec.idle_timeout
        try:
            await hold_connection(self._wiring, mode, attempt, self.watch, limit)
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

    def _keeps_state(self) -> bool:
        """Say whether something would be lost, or nothing gained, by a stop while it is idle."""
        return self.owned or self.spec.stateful == "shared" or self.spec.transport == "memory"

    def _up(self, connection: Connection, listing: ServerListing) -> None:
        self.connection = connection
        connection.attempt.up_since = self._clock.monotonic()
        self.life.connected(connection, listing)
        connection.attempt.succeed()

    def _fault(self, text: str) -> ServerError:
        return ServerError(
            f"MCP server {self.spec.name!r}: {text}",
            server=self.spec.name,
            where=str(self.spec.origin),
            remedy=self.watch.remedy,
        )
