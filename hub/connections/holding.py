"""One connection to a server, from its greeting to its end."""

from collections.abc import Callable
from typing import Literal

import anyio
from mcp import Client, MCPError, types
from mcp.client.session import LoggingFnT
from msgspec import Struct

from hub.connections.asking import Asking
from hub.connections.changes import Changes
from hub.connections.connection import Attempt, Connection
from hub.connections.faults import is_closed, is_unanswered
from hub.connections.listing import Lister
from hub.connections.opening import Place, open_server
from hub.connections.watch import Watch
from hub.core.ports import Clock, ServerListing
from hub.core.servers import ServerSpec
from hub.version import __version__

Mode = Literal["auto", "legacy"]


class Wiring(Struct, frozen=True):
    """What all connections of one link have in common, and whom they tell."""

    spec: ServerSpec
    place: Place
    clock: Clock
    logged: LoggingFnT
    up: Callable[[Connection, ServerListing], None]
    """The server has listed what it offers and takes calls."""
    changed: Callable[[ServerListing], None]
    idle: Callable[[Connection], None]
    """Nobody has called for as long as the settings allow."""
    deadly: set[str]
    """Lists that are not asked for, since the server died of it."""


async def hold_connection(
    wiring: Wiring, mode: Mode, attempt: Attempt, watch: Watch, idle_limit: float | None
) -> None:
    """Connect, tell that the server is up, and return when the connection has ended.

    Raises:
        TimeoutError: the server did not come up before the attempt's limit.
        Exception: whatever else went wrong, in groups.
    """
    spec, place, changes = wiring.spec, wiring.place, Changes(wiring.clock)
    asking = Asking(
        spec, workspace=place.workspace, answers=place.answers, emit=place.emit, watch=watch
    )
    with anyio.CancelScope(deadline=attempt.limit) as connecting:
        async with Client(
            asking.guarded(await open_server(spec, place, watch)),
            mode=mode,
            client_info=types.Implementation(name="hub", version=__version__),
            logging_callback=wiring.logged,
            message_handler=changes.told,
            cache=None,
            **asking.callbacks(),
        ) as client:
            clock = wiring.clock
            connection = Connection(client, watch, attempt, clock, clock.monotonic(), asking)
            async with anyio.create_task_group() as group:
                group.start_soon(changes.listen, client)
                await changes.ready(client)
                lister = Lister(client, spec.name, wiring.deadly)
                listing = await lister.read()
                connecting.deadline = float("inf")
                group.start_soon(changes.follow, lister, listing, wiring.changed)
                if idle_limit is not None:
                    group.start_soon(_end_when_idle, connection, idle_limit, wiring)
                wiring.up(connection, listing)
                await connection.hold()
                if spec.transport in ("http", "sse") and not attempt.leaving:
                    await connection.settle()
                group.cancel_scope.cancel()
    if connecting.cancelled_caught and not attempt.over.is_set():
        raise TimeoutError(silence(spec, attempt.limit - attempt.deadline + attempt.patience))


def modes(spec: ServerSpec, *, legacy: bool) -> tuple[Mode, ...]:
    """Return how to greet a server: as it was understood before, then the other way.

    The older HTTP transport belongs to the older protocol.
    """
    if spec.transport == "memory":
        return ("auto",)
    return ("legacy", "auto") if legacy or spec.transport == "sse" else ("auto", "legacy")


def speaks_otherwise(fault: BaseException | None, mode: Mode) -> bool:
    """Say whether a server may have failed because it was greeted in the wrong protocol."""
    if mode == "legacy":
        return isinstance(fault, MCPError)
    return is_closed(fault) or is_unanswered(fault)


def silence(spec: ServerSpec, seconds: float, *, goes_on: bool = False) -> str:
    """Say that a server does not come up, and whether it may still do so."""
    again = "did not come up the last time, and " if seconds < spec.start_timeout else ""
    return (
        f"it {again}did not answer within {seconds:g} s of its start"
        + (" and is waited for in the background" if goes_on else "")
        + f"; if it needs longer, raise servers.{spec.name}.start_timeout"
    )


async def _end_when_idle(connection: Connection, limit: float, wiring: Wiring) -> None:
    await connection.quiet_for(limit)
    wiring.idle(connection)
