"""Sends one streamed answer, with whatever faults its turn asks for."""

from collections.abc import Callable, Iterator
from typing import Any

import anyio

from hub.models.script_player import Played
from hub.testing.answers import event, events
from hub.testing.http_wire import LAST_CHUNK, Connection, chunk, head

BATCH = 16
"""Events in one write where a turn asks for very many deltas."""


class Sending:
    """One answer on its way to a client."""

    def __init__(
        self, connection: Connection, played: Played, gate: Callable[[str], anyio.Event]
    ) -> None:
        self._connection = connection
        self._played = played
        self._wire = played.turn.wire
        self._gate = gate
        self.client_left = False
        """The client closed the connection before the answer was complete."""

    async def run(self, model: str, usage: dict[str, Any] | None, *, include_usage: bool) -> bool:
        """Send the answer; say whether the connection can carry another request."""
        complete = False
        async with anyio.create_task_group() as group:
            if "stall" in self._wire:
                group.start_soon(self._watch, group.cancel_scope)
            try:
                complete = await self._send(model, usage, include_usage=include_usage)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.client_left = True
            group.cancel_scope.cancel()
        return complete and not self.client_left

    async def _watch(self, scope: anyio.CancelScope) -> None:
        await self._connection.wait_for_close()
        self.client_left = True
        scope.cancel()

    async def _send(self, model: str, usage: dict[str, Any] | None, *, include_usage: bool) -> bool:
        stall, close = self._wire.get("stall"), self._wire.get("close")
        if stall and stall.get("after") == "request":
            await self._stall(stall)
        await self._connection.send(self._head())
        made = self._made(model, usage, include_usage=include_usage)
        for number, piece in enumerate(self._batched(made)):
            if stall and stall.get("after") == number:
                await self._stall(stall)
            if close and close.get("after", 0) == number:
                part = piece[: int(close.get("bytes", 0))]
                if part:
                    await self._write(part)
                await self._connection.abort()
                return False
            await self._write(piece)
        if self._wire.get("framing") == "close":
            return False
        await self._connection.send(LAST_CHUNK)
        return True

    def _made(
        self, model: str, usage: dict[str, Any] | None, *, include_usage: bool
    ) -> Iterator[bytes]:
        if "raw" in self._wire:
            yield from (_raw(part) for part in self._wire["raw"])
            return
        if "chunks" in self._wire:
            made: Iterator[bytes] = (event(part) for part in self._wire["chunks"])
            made = _followed(made, b"data: [DONE]\n\n")
        else:
            made = events(self._played, model, usage, include_usage=include_usage)
        for data in made:
            if data == b"data: [DONE]\n\n" and self._wire.get("done") is False:
                continue
            if self._wire.get("comments"):
                yield b": keep-alive\n\n" * int(self._wire["comments"])
            yield data.replace(b"\n", b"\r\n") if self._wire.get("crlf") else data

    def _batched(self, made: Iterator[bytes]) -> Iterator[bytes]:
        size = int(self._wire.get("batch", BATCH if self._wire.get("deltas", 0) > BATCH else 1))
        held: list[bytes] = []
        for data in made:
            held.append(data)
            if len(held) >= size:
                yield b"".join(held)
                held = []
        if held:
            yield b"".join(held)

    def _head(self) -> bytes:
        headers = {"content-type": str(self._wire.get("content_type", "text/event-stream"))}
        if self._wire.get("content_type", "") is None:
            headers = {}
        if self._wire.get("framing") == "close":
            headers["connection"] = "close"
        else:
            headers["transfer-encoding"] = "chunked"
        return head(200, headers)

    async def _write(self, data: bytes) -> None:
        framed = data if self._wire.get("framing") == "close" else chunk(data)
        await self._connection.send(framed)

    async def _stall(self, stall: dict[str, Any]) -> None:
        gate = self._gate(str(stall.get("name", "")))
        if "seconds" in stall:
            with anyio.move_on_after(float(stall["seconds"])):
                await gate.wait()
        else:
            await gate.wait()


def _raw(part: Any) -> bytes:
    return bytes.fromhex(part["hex"]) if isinstance(part, dict) else str(part).encode()


def _followed(made: Iterator[bytes], last: bytes) -> Iterator[bytes]:
    yield from made
    yield last
