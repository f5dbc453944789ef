"""What servers wrote to standard error over their last lives, and requests for a restart."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
from msgspec import Struct

from hub.app.mcp.looks import Look, look_around
from hub.connections.records import log_paths, request_restart
from hub.core.errors import HubError

LOOK_SECONDS = 0.3
"""Seconds between two looks at a log that is followed."""
MOST = 2 * 1024 * 1024
"""Bytes of one log that are read at most, from its end."""


class Restart(Struct, frozen=True):
    """A request for a restart, and whom it reaches."""

    look: Look
    """The server as it was when it was asked for."""
    running: bool
    """A hub that runs the server was seen."""


class Log(Struct, frozen=True):
    """What a server wrote so far."""

    lines: list[str]
    """The last ones, of all its lives."""
    path: Path
    """Where it goes on."""
    size: int
    """Bytes of that file that were read."""


def read_log(workspace: Path, server: str, count: int, *, strict_mcp: Path | None = None) -> Log:
    """Return the last lines that a server wrote to standard error.

    Raises:
        UsageError: there is no such server, or the settings are wrong.
    """
    view = look_around(workspace, strict_mcp=strict_mcp)
    older, newer = log_paths(view.setup.loaded.sources.paths.state, view.find(server).spec)
    size = _size(newer)
    start = max(size - MOST, 0)
    data = _read(older, max(_size(older) - MOST, 0)) + _read(newer, start)[: size - start]
    lines = data.decode("utf-8", "replace").splitlines()
    return Log(lines[-count:] if count > 0 else [], newer, size)


async def new_lines(log: Log) -> AsyncGenerator[str, None]:
    """Yield what a server writes after what was read, line by line, without end."""
    seen, rest = log.size, b""
    while True:
        size = _size(log.path)
        if size < seen:
            seen = 0
        if size == seen:
            await anyio.sleep(LOOK_SECONDS)
            continue
        data = _read(log.path, seen)
        seen += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")


def ask_restart(workspace: Path, server: str, *, strict_mcp: Path | None = None) -> Restart:
    """Leave a request for a restart, which also ends a crash loop.

    Raises:
        UsageError: there is no such server, or the settings are wrong.
        HubError: the request cannot be left.
    """
    view = look_around(workspace, strict_mcp=strict_mcp)
    look = view.find(server)
    state = view.setup.loaded.sources.paths.state
    try:
        request_restart(state, look.spec)
    except OSError as error:
        raise HubError(
            f"the request for a restart cannot be left: {error.strerror}", where=str(state)
        ) from None
    running = look.state in ("starting", "connected", "idle")
    return Restart(look, running)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(path: Path, start: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(MOST)
    except OSError:
        return b""
