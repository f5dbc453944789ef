"""A server process under test: its messages, its noise, and whether it ends with all it started."""

import json
import os
import secrets
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from msgspec import Struct

from hub.connections.launching import launch_line
from hub.connections.lines import Lines
from hub.connections.opening import Place
from hub.connections.raw.wire import Json, Wire
from hub.connections.stdio import server_environment
from hub.connections.watch import Watch
from hub.core.errors import ServerError
from hub.core.servers import ServerSpec
from hub_servers.processes import GroupProcess, LaunchError, start
from hub_servers.reaper import has_members

MARK = "HUB_MCP_TEST"
"""Variable by which everything that the server starts is found again."""
END_LIMIT = 3.0
"""Seconds that a server has to end once its input is closed."""
LINGER = 0.3
"""Seconds that what it started has to end after it."""
KEPT_NOISE = 3
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


class Ending(Struct, frozen=True):
    """How a process ended once its input was closed."""

    exit_code: int | None
    """None when it did not end by itself."""
    seconds: float
    left: tuple[str, ...] = ()
    """Processes that it started and that outlived it: pid and command."""


class Process:
    """A server process that is talked to through a wire."""

    def __init__(self, process: GroupProcess, watch: Watch, mark: str) -> None:
        self.wire = Wire(self._send)
        self.watch = watch
        self.stderr_bytes = 0
        self._process = process
        self._mark = mark

    async def end(self) -> Ending:
        """Close the server's input, wait for its end, and look for what it leaves behind."""
        started = anyio.current_time()
        if (stdin := self._process.process.stdin) is not None:
            with suppress(*_GONE), anyio.move_on_after(END_LIMIT):
                await stdin.aclose()
        code = None
        with anyio.move_on_after(END_LIMIT):
            code = await self._process.wait()
        took = anyio.current_time() - started
        left: tuple[str, ...] = ()
        if code is not None:
            await anyio.sleep(LINGER)
            left = await anyio.to_thread.run_sync(_left_behind, self._mark, self._process.pgid)
        return Ending(code, took, left)

    async def exited(self) -> None:
        """Wait a moment for the exit code of a process that has closed its output."""
        with anyio.move_on_after(LINGER):
            await self._process.wait()
            self.watch.exit_code = self._process.returncode

    async def read(self) -> None:
        """Take every message until the output ends."""
        stdout = self._process.process.stdout
        assert stdout is not None
        lines = Lines(self._noise)
        with suppress(*_GONE):
            while True:
                for line in lines.feed(await stdout.receive()):
                    await self._take(line)
        self.wire.close()

    async def listen(self) -> None:
        """Keep what it writes to standard error."""
        stderr = self._process.process.stderr
        assert stderr is not None
        with suppress(*_GONE):
            while True:
                data = await stderr.receive()
                self.stderr_bytes += len(data)
                self.watch.heard(data)

    async def follow(self) -> None:
        """Note the end of the process."""
        self.watch.exit_code = await self._process.wait()
        await anyio.sleep(LINGER)
        self.wire.close()

    async def _take(self, line: bytes) -> None:
        text = line.rstrip(b"\r")
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError:
            self.wire.traffic.not_utf8 += 1
            decoded = text.decode("utf-8", "replace")
        if decoded.startswith("\ufeff"):
            self.wire.traffic.malformed.append("it begins with a byte order mark")
            decoded = decoded.removeprefix("\ufeff")
        try:
            message = json.loads(decoded)
        except (ValueError, RecursionError):
            self._noise(line)
            return
        if not isinstance(message, dict) or "jsonrpc" not in message:
            self._noise(line)
        elif (answer := self.wire.take(message)) is not None:
            with suppress(*_GONE):
                await self._send(answer, {})

    def _noise(self, line: bytes) -> None:
        traffic = self.wire.traffic
        traffic.noise_count += 1
        if len(traffic.noise) < KEPT_NOISE:
            shown = self.watch.told(line[:2000].decode("utf-8", "replace"))
            traffic.noise.append(shown[:200])

    async def _send(self, message: Json, _headers: Mapping[str, str]) -> None:
        stdin = self._process.process.stdin
        assert stdin is not None
        await stdin.send(json.dumps(message).encode() + b"\n")


@asynccontextmanager
async def process_under_test(
    spec: ServerSpec, place: Place, watch: Watch
) -> AsyncIterator[Process]:
    """Start a server whose references are resolved already; leaving the block ends everything.

    Raises:
        ServerError: the program cannot be started.
    """
    mark = secrets.token_hex(8)
    folder = place.workspace / spec.cwd if spec.cwd else place.workspace
    env = server_environment(place.env, spec.env) | {MARK: mark}
    try:
        line = launch_line([spec.command, *spec.args], env)
        process = await start(line, env=env, cwd=folder, strays=True)
    except LaunchError as error:
        raise ServerError(str(error), server=spec.name, where=str(spec.origin)) from None
    under_test = Process(process, watch, mark)
    async with anyio.create_task_group() as group:
        try:
            for task in (under_test.read, under_test.listen, under_test.follow):
                group.start_soon(task)
            yield under_test
        finally:
            with anyio.CancelScope(shield=True):
                await process.aclose()
                await anyio.to_thread.run_sync(_end_marked, mark)
            group.cancel_scope.cancel()


def _left_behind(mark: str, group: int) -> tuple[str, ...]:
    """Return what carries the mark and still runs; without ``/proc``, only the group is known."""
    if not Path("/proc/self/environ").exists():
        return (f"process group {group}",) if has_members(group) else ()
    return tuple(f"{pid} ({command})" for pid, command in _marked(mark))


def _end_marked(mark: str) -> None:
    """End what the server started and what has left its process group."""
    for pid, _ in _marked(mark):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _marked(mark: str) -> list[tuple[int, str]]:
    """Return each process with the mark in its environment: its pid and its command."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append((int(folder.name), words.decode("utf-8", "replace").strip()[:100]))
    return found
