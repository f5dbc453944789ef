"""The stdio transport: a server process in a group of its own, one JSON message a line."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from hub.connections.watch import Watch
from hub_servers.processes import GroupProcess, start

MAX_LINE = 8 * 1024 * 1024
"""Bytes of one message; a longer line is noise and is thrown away to its end."""
EXIT_GRACE = 1.0
"""Seconds that a server has to exit by itself once its input is closed."""
TERM_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ")
"""Variables of ours that every server gets, and those that begin with ``LC_``."""

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


def server_environment(ours: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server: an allow-list of ours, then its own variables."""
    passed = {k: v for k, v in ours.items() if k in PASSED_ON or k.startswith("LC_")}
    return {**passed, **extra}


@asynccontextmanager
async def stdio_transport(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], watch: Watch
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start a server and yield its two streams; leaving the block ends it and all it started.

    Raises:
        LaunchError: the program cannot be started.
    """
    process = await start(argv, env=env, cwd=cwd)
    send_in, receive_in = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    send_out, receive_out = anyio.create_memory_object_stream[SessionMessage](0)
    streams: list[Any] = [send_in, receive_in, send_out, receive_out]
    async with anyio.create_task_group() as group:
        group.start_soon(_read, process, send_in, watch)
        group.start_soon(_write, process, receive_out, send_in)
        group.start_soon(_listen, process, watch)
        try:
            yield receive_in, send_out
        finally:
            with anyio.CancelScope(shield=True):
                receive_in.close()
                send_out.close()
                await _stop(process, watch)
                for stream in streams:
                    stream.close()
            group.cancel_scope.cancel()


async def _read(
    process: GroupProcess,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    watch: Watch,
) -> None:
    stdout = process.process.stdout
    assert stdout is not None
    buffer, too_long = b"", False
    try:
        async with incoming:
            while True:
                *lines, buffer = (buffer + await stdout.receive()).split(b"\n")
                for line in lines:
                    if too_long:
                        too_long = False
                    elif message := _message(line, watch):
                        await incoming.send(message)
                if len(buffer) > MAX_LINE:
                    watch.skipped(buffer[:200].decode("utf-8", "replace"))
                    buffer, too_long = b"", True
    except _GONE:
        pass
    with anyio.move_on_after(EXIT_GRACE):
        watch.exit_code = await process.wait()
    watch.closed.set()
    with suppress(*_GONE):
        while True:
            await stdout.receive()


def _message(line: bytes, watch: Watch) -> SessionMessage | None:
    text = line.decode("utf-8", "replace").strip("\ufeff \t\r")
    if not text:
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        watch.skipped(text)
        return None


async def _write(
    process: GroupProcess,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    stdin = process.process.stdin
    assert stdin is not None
    try:
        async with outgoing:
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(text.encode("utf-8", "replace") + b"\n")
    except _GONE:
        await incoming.aclose()


async def _listen(process: GroupProcess, watch: Watch) -> None:
    stderr = process.process.stderr
    assert stderr is not None
    with suppress(*_GONE):
        while True:
            watch.heard((await stderr.receive()).decode("utf-8", "replace"))


async def _stop(process: GroupProcess, watch: Watch) -> None:
    """Close the server's input, let it go by itself, then end its group to the last grandchild."""
    if process.process.stdin is not None:
        with suppress(*_GONE):
            await process.process.stdin.aclose()
    with anyio.move_on_after(EXIT_GRACE):
        watch.exit_code = await process.wait()
    await process.end(TERM_GRACE)
    if watch.exit_code is None:
        watch.exit_code = process.returncode
    await process.aclose()
    watch.closed.set()
