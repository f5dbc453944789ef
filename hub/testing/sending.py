"""Sends one answer, whole or as a stream, with whatever faults its turn asks for."""

from collections.abc import Callable, Iterator

import anyio

from hub.models.script.wire import Cut, Stall, Wire
from hub.testing.answers import DONE, event
from hub.testing.http_wire import LAST_CHUNK, Connection, chunk, head

BATCH = 16
"""Events in one write where a turn asks for very many deltas."""
COMMENT = b": keep-alive\n\n"


class Sending:
    """One answer on its way to a client."""

    def __init__(
        self, connection: Connection, wire: Wire, gate: Callable[[str], anyio.Event]
    ) -> None:
        self._connection = connection
        self._wire = wire
        self._gate = gate
        self._stall: Stall | None = wire.stall
        self._cutting = False
        self.client_left = False
        """The client closed the connection before the answer was complete."""

    async def stream(self, events: Iterator[bytes]) -> bool:
        """Send events; say whether the connection can carry another request."""
        return await self._run(self._faulty(events), "text/event-stream")

    async def whole(self, body: bytes) -> bool:
        """Send a body at once; say whether the connection can carry another request."""
        pieces = iter((body,) if self._wire.raw is None else self._wire.raw)
        return await self._run(pieces, "application/json")

    async def _run(self, pieces: Iterator[bytes], content_type: str) -> bool:
        complete = False
        async with anyio.create_task_group() as group:
            if self._stall is not None:
                group.start_soon(self._watch, group.cancel_scope)
            try:
                complete = await self._send(pieces, content_type)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.client_left = True
            group.cancel_scope.cancel()
        return complete and not self.client_left

    async def _watch(self, scope: anyio.CancelScope) -> None:
        await self._connection.wait_for_close()
        if not self._cutting:
            self.client_left = True
            scope.cancel()

    async def _send(self, pieces: Iterator[bytes], content_type: str) -> bool:
        if self._stall is not None and self._stall.after is None:
            await self._pause(self._stall)
        await self._connection.send(self._head(content_type))
        held = b""
        for number, piece in enumerate(pieces):
            if self._stops_at(number):
                await self._write(held)
                held = b""
                await self._pause_at(number)
            if self._wire.close is not None and number >= self._wire.close.after:
                return await self._cut(self._wire.close, piece)
            held += piece
            if (number + 1) % self._batch() == 0:
                await self._write(held)
                held = b""
        await self._write(held)
        await self._pause_at(None)
        if self._wire.close is not None:
            return await self._cut(self._wire.close, b"")
        if self._wire.until_closed:
            return False
        await self._connection.send(LAST_CHUNK)
        return True

    def _faulty(self, events: Iterator[bytes]) -> Iterator[bytes]:
        wire = self._wire
        if wire.raw is not None:
            yield from wire.raw
            return
        for data in events if wire.chunks is None else _verbatim(wire.chunks):
            if data == DONE and not wire.done:
                continue
            data = COMMENT * wire.comments + data
            yield data.replace(b"\n", b"\r\n") if wire.crlf else data

    def _batch(self) -> int:
        return self._wire.batch or (BATCH if self._wire.deltas > BATCH else 1)

    def _head(self, content_type: str) -> bytes:
        headers = {}
        if self._wire.content_type is not None:
            headers["content-type"] = self._wire.content_type or content_type
        if self._wire.until_closed:
            headers["connection"] = "close"
        else:
            headers["transfer-encoding"] = "chunked"
        return head(200, headers)

    def _stops_at(self, number: int) -> bool:
        stall, close = self._stall, self._wire.close
        return (stall is not None and stall.after is not None and number >= stall.after) or (
            close is not None and number >= close.after
        )

    async def _pause_at(self, number: int | None) -> None:
        """Make the pause that is due before an event, or at the end of all."""
        stall = self._stall
        if stall is None or stall.after is None:
            return
        if number is None or number >= stall.after:
            await self._pause(stall)

    async def _pause(self, stall: Stall) -> None:
        self._stall = None
        gate = self._gate(stall.name)
        with anyio.move_on_after(stall.seconds):
            while not gate.is_set():
                with anyio.move_on_after(stall.keep_alive):
                    await gate.wait()
                    return
                await self._write(COMMENT)

    async def _cut(self, close: Cut, piece: bytes) -> bool:
        await self._write(piece[: close.bytes])
        self._cutting = True
        await self._connection.abort()
        return False

    async def _write(self, data: bytes) -> None:
        if data:
            await self._connection.send(data if self._wire.until_closed else chunk(data))


def _verbatim(chunks: tuple[object, ...]) -> Iterator[bytes]:
    for part in chunks:
        yield event(part)
    yield DONE
