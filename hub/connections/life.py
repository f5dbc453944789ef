"""What is known of one server over all of its starts, and whom that is told."""

import json
from collections.abc import Callable
from typing import Any, Literal

from mcp import types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from msgspec.structs import replace

from hub.connections.connection import Connection
from hub.connections.faults import reason_of, remedy_for
from hub.connections.judging import Judge
from hub.connections.records import Record
from hub.connections.restarts import Restarts
from hub.connections.watch import Watch
from hub.core import events as ev
from hub.core.listings import listing_change
from hub.core.ports import Clock, Pins, ServerListing
from hub.core.servers import ServerSpec

State = Literal[
    "discovered", "starting", "warming", "connected", "idle", "stopped", "failed", "crash-loop"
]
"""``warming``: it takes longer than its limit, and may still come up."""


class Life:
    """One server's state and history; every change of the state is told as a record."""

    def __init__(
        self,
        spec: ServerSpec,
        clock: Clock,
        emit: Callable[[ev.Event], None],
        *,
        protocol: str = "",
        before: Record | None = None,
        tell: Callable[["Life"], None] = lambda life: None,
        pins: Pins | None = None,
    ) -> None:
        """Take in what is remembered: the protocol to greet it with, and its last record."""
        self.spec = spec
        self.state: State = "discovered"
        self.error = ""
        """Why the latest start failed or the connection ended."""
        self.listing: ServerListing | None = None
        """What it offered the last time."""
        self.judge = Judge(spec, pins, emit)
        """What of it is held back, by what it offered the last time."""
        self.restarts = Restarts(clock)
        self.legacy = bool(protocol) and protocol not in MODERN_PROTOCOL_VERSIONS
        """It is known to speak the older protocol, so it is not asked for the newer one."""
        self.record = before or Record(spec.name, transport=spec.transport)
        self._last: Connection | None = None
        self._clock = clock
        self._emit = emit
        self._tell = tell

    def starting(self) -> None:
        """A start begins."""
        self._become("starting", started=self._clock.now())

    def late(self, error: str, watch: Watch) -> None:
        """The start takes longer than it may; it goes on."""
        self.error = error
        self._become("warming", watch)
        self._failed(watch, "Wait for it: it is used as soon as it answers.")

    def connected(self, connection: Connection, listing: ServerListing) -> None:
        """The server is up."""
        attempt, before = connection.attempt, self.listing
        self._last = connection
        self.error, self.listing = "", listing
        self.judge.look(listing)
        modern = listing.protocol in MODERN_PROTOCOL_VERSIONS
        moved = attempt.assumed and self.record.version not in ("", listing.version)
        # Another version of the server may speak the newer protocol, so it is asked again.
        self.legacy = not modern and not moved
        self._become(
            "connected",
            connection.watch,
            connected=self._clock.now(),
            protocol=listing.protocol,
            greeting="" if moved else listing.protocol,
            version=listing.version,
            **_counts(listing),
        )
        self._emit(
            ev.ServerConnected(
                server=self.spec.name,
                protocol=listing.protocol,
                tools=len(listing.tools),
                duration_ms=round((self._clock.monotonic() - attempt.begun) * 1000),
            )
        )
        if attempt.late and before is None:
            before = ServerListing(self.spec.name, listing.protocol)
        self._tell_change(before, listing)

    def changed(self, now: ServerListing) -> None:
        """The server offers something else."""
        before, self.listing = self.listing, now
        self.judge.look(now)
        self._become(self.state, None, **_counts(now))
        self._tell_change(before, now)

    def failed(self, fault: BaseException | None, watch: Watch) -> None:
        """The server did not come up, or went away."""
        self.error = reason_of(fault, watch)
        self._become("crash-loop" if self.restarts.wait() else "failed", watch)
        self._failed(watch, remedy_for(fault, self.spec.name, watch))

    def refused(self) -> None:
        """It may not be started now."""
        if self.state != "crash-loop":
            self._become("crash-loop")

    def rests(self, state: State, watch: Watch) -> None:
        """We ended it: it is idle until somebody needs it, or stopped for good."""
        self._become(state, watch)

    async def logged(self, params: types.LoggingMessageNotificationParams) -> None:
        """Take what the server logs through the protocol."""
        self._emit(
            ev.ServerLog(server=self.spec.name, level=str(params.level), text=_said(params.data))
        )

    def _tell_change(self, before: ServerListing | None, now: ServerListing) -> None:
        if before is not None and (change := listing_change(before, now)) is not None:
            self._emit(change)

    def _become(self, state: State, watch: Watch | None = None, **changes: Any) -> None:
        self.state = state
        if (last := self._last) is not None and last.served:
            ago = self._clock.monotonic() - last.used
            changes["used"] = max(self._clock.now() - ago, 0.0)
        if watch is not None:
            changes |= {"stderr": watch.tail(), "exit_code": watch.exit_code}
            changes |= {"noise": watch.noise, "first_noise": watch.told(watch.first_noise)}
        if state not in ("starting", "warming", "connected"):
            changes["ended"] = self._clock.now()
        wait = self.restarts.wait() if state == "crash-loop" else 0.0
        self.record = replace(
            self.record,
            name=self.spec.name,
            transport=self.spec.transport,
            state=state,
            error=self.error,
            starts=self.restarts.recent(),
            retry_at=self._clock.now() + wait if wait else 0.0,
            **changes,
        )
        self._tell(self)

    def _failed(self, watch: Watch, remedy: str) -> None:
        self._emit(
            ev.ServerFailed(
                server=self.spec.name,
                error=self.error,
                where=str(self.spec.origin),
                remedy=remedy,
                stderr=watch.tail(),
            )
        )


def take_up(life: Life, other: Life) -> None:
    """Let one life begin with what another one has learned of the same server."""
    life.listing, life.legacy, life.record = other.listing, other.legacy, other.record
    life.judge = other.judge


def _counts(listing: ServerListing) -> dict[str, int]:
    return {
        "tools": len(listing.tools),
        "prompts": len(listing.prompts),
        "resources": len(listing.resources),
    }


def _said(data: Any) -> str:
    """Return what a server logged as text; much of it is JSON."""
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
