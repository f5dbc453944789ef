"""Talks to the faulty server over bare pipes, where the SDK would hide what is on the wire."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from os import PathLike
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from hub.testing.faulty.launch import faulty_command

Message = dict[str, Any]

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}


class RawServer:
    """One faulty server as a process with two pipes and no manners."""

    def __init__(self, process: Process) -> None:
        self.process = process
        assert process.stdout is not None
        self.output = BufferedByteReceiveStream(process.stdout)
        self._ids = 0

    async def send(self, message: Message) -> None:
        """Write one message."""
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(message).encode() + b"\n")

    async def request(self, method: str, **params: Any) -> int:
        """Write a request and return its id."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        await self.send(message)
        return self._ids

    async def line(self) -> bytes:
        """The next line of output, without its line end."""
        return await self.output.receive_until(b"\n", 64 * 1024 * 1024)

    async def message(self) -> Message:
        """The next line of output as a message."""
        return json.loads(await self.line())

    async def ask(self, method: str, **params: Any) -> Message:
        """Send a request and return the next message, which must be its answer."""
        identity = await self.request(method, **params)
        message = await self.message()
        assert message["id"] == identity, message
        return message

    async def call(self, name: str, **arguments: Any) -> Message:
        """Call a tool and return the whole reply."""
        return await self.ask("tools/call", name=name, arguments=arguments)

    async def close_input(self) -> None:
        """Let the server's stdin end."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()


@asynccontextmanager
async def raw_server(
    *knobs: str, log: str | PathLike[str] | None = None, handshake: bool = True
) -> AsyncIterator[RawServer]:
    """A running faulty server, killed on the way out; everything within is bounded to 20 s."""
    command, arguments = faulty_command(*knobs, log=log)
    process = await anyio.open_process([command, *arguments], start_new_session=True)
    try:
        with anyio.fail_after(20):
            server = RawServer(process)
            if handshake:
                await server.ask("initialize", **INITIALIZE)
            yield server
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def exit_of(server: RawServer) -> tuple[int, str]:
    """The exit code and the stderr of a server that ends by itself."""
    assert server.process.stderr is not None
    text = b""
    async for part in server.process.stderr:
        text += part
    return await server.process.wait(), text.decode()


async def is_silent(server: RawServer) -> bool:
    """Whether nothing comes for a while."""
    with anyio.move_on_after(0.2) as waited:
        await server.line()
    return waited.cancelled_caught
