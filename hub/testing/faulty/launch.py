"""Starts the faulty MCP server from a test: its stdio command, an HTTP server, its log."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from hub.testing.faulty.http import FORGET_PATH, PATH
from hub.testing.faulty.knobs import parse_knob

_START_LIMIT = 20.0
_END_LIMIT = 2.0
_LOOK = 0.01
"""Seconds between two looks at a file that another process changes."""

Event = dict[str, Any]
"""One line of the log: `event`, `at` (Unix seconds), `pid`, and what belongs to the event."""


def faulty_command(*knobs: str, log: str | os.PathLike[str] | None = None) -> tuple[str, list[str]]:
    """The command and the arguments that start a faulty server on stdio.

    Raises:
        KnobError: A knob does not exist or cannot hold its value.
    """
    arguments = ["-P", "-m", "hub.testing.faulty_server"]
    for knob in knobs:
        parse_knob(knob)
        arguments += ["--knob", knob]
    if log is not None:
        arguments += ["--log", os.fspath(log)]
    return sys.executable, arguments


@asynccontextmanager
async def faulty_http(*knobs: str, log: str | os.PathLike[str] | None = None) -> AsyncIterator[str]:
    """A faulty server on streamable HTTP; the value is its URL, and leaving ends its process.

    Raises:
        KnobError: A knob does not exist or cannot hold its value.
        RuntimeError: The server ended before it listened.
    """
    command, arguments = faulty_command(*knobs, log=log)
    process = await anyio.open_process(
        [command, *arguments, "--http", "0"], stderr=None, start_new_session=True
    )
    try:
        yield await _url_of(process)
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def forget_sessions(url: str) -> None:
    """Make a faulty HTTP server forget its sessions, as a restart would."""
    port = int(url.removesuffix(PATH).rpartition(":")[2])
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(f"POST {FORGET_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await stream.receive()


class FaultyLog:
    """What a faulty server says about itself in the file that `log` names."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def events(self, event: str | None = None, **fields: object) -> list[Event]:
        """The events so far, of one name and with the given fields if they are given."""
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        found = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        wanted = fields if event is None else {"event": event, **fields}
        return [item for item in found if wanted.items() <= item.items()]

    async def wait_for(self, event: str, *, count: int = 1, **fields: object) -> list[Event]:
        """The events of one name as soon as there are so many; for use in `anyio.fail_after`."""
        while len(found := self.events(event, **fields)) < count:  # noqa: ASYNC110 - another process writes
            await anyio.sleep(_LOOK)
        return found

    def end_spawned(self) -> None:
        """End every process that the server has spawned, as a test must when it leaves."""
        for event in self.events("spawned"):
            with suppress(ProcessLookupError):
                os.kill(event["child"], signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether a process lives; one that has ended but was not reaped yet does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


async def wait_until_gone(pid: int) -> None:
    """Return when a process has ended, whoever its parent is; for use in `anyio.fail_after`."""
    while is_running(pid):  # noqa: ASYNC110 - the process is not ours to wait for
        await anyio.sleep(_LOOK)


async def _url_of(process: Process) -> str:
    assert process.stdout is not None
    text = ""
    with anyio.move_on_after(_START_LIMIT):
        async for part in TextReceiveStream(process.stdout):
            text += part
            if text.endswith("\n"):
                return text.strip()
    raise RuntimeError(
        f"the faulty server did not listen; it ended with exit code {process.returncode} "
        "or took too long, and its stderr says why"
    )


async def _end(process: Process) -> None:
    """End the process and its group, first politely, and wait until it is reaped."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with anyio.move_on_after(_END_LIMIT):
            await process.wait()
            break
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.aclose()
