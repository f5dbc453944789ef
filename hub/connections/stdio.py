"""The stdio transport: a server process in a group of its own, one JSON message a line."""

import math
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import SessionMessage
from msgspec import Struct, field

from hub.connections.launching import launch_line
from hub.connections.lines import MAX_LINE, Lines
from hub.connections.mending import message_of
from hub.connections.watch import Watch
from hub_servers.processes import GroupProcess, start

EXIT_GRACE = 0.7
"""Seconds that a server has to exit by itself once its input is closed."""
TERM_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
LAST_WORDS = 0.1
"""Seconds that the end of standard error is waited for once the process has ended."""
PROBE = "server/discover"
"""The request that older servers do not know, and some do not answer."""
PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ")
"""Variables of ours that every server gets, and those that begin with ``LC_``."""

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

_REPLY = re.compile(rb'\{[^{}\[\]]*?"id"\s*:\s*(\d+)')
"""The beginning of an answer to one of our requests."""
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


def server_environment(ours: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server: an allow-list of ours, then its own variables."""
    passed = {k: v for k, v in ours.items() if k in PASSED_ON or k.startswith("LC_")}
    return {**passed, **extra}


@asynccontextmanager
async def stdio_transport(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    watch: Watch,
    probe_limit: float = math.inf,
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start a server and yield its two streams; leaving the block ends it and all it started.

    A probe for the modern protocol that is not answered within ``probe_limit`` seconds is answered
    in the server's stead: it does not know it.

    Raises:
        LaunchError: the program cannot be started.
    """
    process = await start(launch_line(argv, env), env=env, cwd=cwd, strays=True)
    send_in, receive_in = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    # Without a bound, so that a server that does not read holds up none of its callers.
    send_out, receive_out = anyio.create_memory_object_stream[SessionMessage](math.inf)
    pipes = _Pipes(process, watch, send_in, probe_limit)
    async with anyio.create_task_group() as group:
        try:
            group.start_soon(pipes.read)
            group.start_soon(pipes.write, receive_out)
            group.start_soon(pipes.listen)
            group.start_soon(pipes.follow)
            yield receive_in, send_out
        finally:
            with anyio.CancelScope(shield=True):
                receive_in.close()
                await pipes.stop()
                for stream in (send_in, send_out, receive_out):
                    stream.close()
            group.cancel_scope.cancel()


class _Pipes(Struct):
    """The three pipes of a server process."""

    process: GroupProcess
    watch: Watch
    incoming: MemoryObjectSendStream[SessionMessage | Exception]
    probe_limit: float
    _drained: anyio.Event = field(default_factory=anyio.Event)
    """Standard output has been read to its end."""
    _unread: list[int] = field(default_factory=list)
    """Requests whose answers were too long to be read."""

    async def follow(self) -> None:
        """Wait for the end of the process, whoever still holds its pipes, and say it at once."""
        self.watch.exit_code = await self.process.wait()
        with anyio.move_on_after(LAST_WORDS):
            await self._drained.wait()
            await self.watch.silent.wait()
        self._close()

    async def read(self) -> None:
        """Hand on every message; read on when nobody listens, so that the server can write."""
        stdout = self.process.process.stdout
        assert stdout is not None
        lines, listening = Lines(self._too_long), True
        with suppress(*_GONE):
            while True:
                for line in lines.feed(await stdout.receive()):
                    message = message_of(line, self.watch) if listening else None
                    if message is not None:
                        listening = await self._hand_on(message)
                while self._unread:
                    text = f"its answer is longer than {MAX_LINE // 2**20} MiB"
                    await self._refuse(self._unread.pop(), types.INTERNAL_ERROR, text)
        self._drained.set()
        with anyio.move_on_after(EXIT_GRACE):
            await self.watch.closed.wait()
        self._close()

    async def write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Send every message; an end of the server's input is the end of the connection."""
        stdin = self.process.process.stdin
        assert stdin is not None
        async with anyio.create_task_group() as probes:
            try:
                async for item in outgoing:
                    message = item.message
                    if isinstance(message, types.JSONRPCRequest) and message.method == PROBE:
                        probes.start_soon(self._answer_probe, message.id)
                    text = message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(text.encode("utf-8", "replace") + b"\n")
            except _GONE:
                self.incoming.close()
            probes.cancel_scope.cancel()

    async def listen(self) -> None:
        """Keep what the server says on standard error."""
        stderr = self.process.process.stderr
        assert stderr is not None
        with suppress(*_GONE):
            while True:
                self.watch.heard(await stderr.receive())
        self.watch.heard(b"\n")
        self.watch.silent.set()

    async def stop(self) -> None:
        """Close the input, let the server go by itself, then end its group to the last."""
        if self.process.process.stdin is not None:
            with suppress(*_GONE), anyio.move_on_after(EXIT_GRACE):
                await self.process.process.stdin.aclose()
        with anyio.move_on_after(EXIT_GRACE):
            self.watch.exit_code = await self.process.wait()
        await self.process.end(TERM_GRACE)
        if self.watch.exit_code is None:
            self.watch.exit_code = self.process.returncode
        await self.process.aclose()
        self.watch.closed.set()

    def _close(self) -> None:
        self.incoming.close()
        self.watch.closed.set()

    async def _hand_on(self, message: SessionMessage) -> bool:
        try:
            await self.incoming.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        return True

    async def _answer_probe(self, request: types.RequestId) -> None:
        if self.probe_limit == math.inf:
            return
        await anyio.sleep(self.probe_limit)
        text = f"no answer within {self.probe_limit:g} s"
        await self._refuse(request, types.METHOD_NOT_FOUND, text)

    async def _refuse(self, request: types.RequestId, code: int, text: str) -> None:
        """Answer a request of ours in the server's stead."""
        error = types.ErrorData(code=code, message=text)
        await self._hand_on(
            SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request, error=error))
        )

    def _too_long(self, opening: bytes) -> None:
        self.watch.skipped(opening)
        if found := _REPLY.match(opening):
            self._unread.append(int(found[1]))
