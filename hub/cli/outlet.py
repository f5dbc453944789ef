"""A file descriptor that takes text as fast as its reader does, without ever blocking the run."""

import errno
import os
import select
import stat
from collections.abc import Callable

import anyio

PIPE_CHUNK = 4096
"""Bytes of one write. A pipe that polls as writable takes this many at once (PIPE_BUF)."""
TERMINAL_CHUNK = 512
HIGH_WATER = 1 << 20
"""Bytes that may wait for the reader before whoever writes has to wait as well."""


class Outlet:
    """Text on its way to a descriptor: queued in order, written by ``pump`` when there is room.

    A reader that has gone is no fault: ``broken`` is set, ``on_broken`` is called once, and the
    rest is thrown away.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waits = _must_wait(descriptor)
        self._chunk = TERMINAL_CHUNK if os.isatty(descriptor) else PIPE_CHUNK
        self._pending = bytearray()
        self._filled = anyio.Event()
        self._moved = anyio.Event()
        self.on_broken: Callable[[], None] | None = None
        """Called when the reader turns out to have gone."""
        self.broken = False
        """The reader has gone."""
        self.fault = ""
        """Why nothing can be written, where that is not the reader's doing: a full disk, say."""

    @property
    def full(self) -> bool:
        """Whether more waits for the reader than should."""
        return len(self._pending) > HIGH_WATER

    def put(self, text: str) -> None:
        """Queue text; it is written in order, in UTF-8."""
        if not self.broken:
            self._pending += text.encode("utf-8", "replace")
            self._filled.set()

    async def room(self) -> None:
        """Wait while the reader is far behind."""
        while self.full:
            await self._moved.wait()

    async def drained(self) -> None:
        """Wait until the reader has taken everything, or has gone."""
        while self._pending:
            await self._moved.wait()

    async def pump(self) -> None:
        """Write what is queued, for ever; runs beside whoever puts."""
        while not self.broken:
            await self._filled.wait()
            self._filled = anyio.Event()
            try:
                await self._write_pending()
            except OSError as error:
                self._break(error)
            moved, self._moved = self._moved, anyio.Event()
            moved.set()

    async def _write_pending(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        while self._pending:
            if self._waits and not poll.poll(0):
                await anyio.wait_writable(self._descriptor)
            del self._pending[: os.write(self._descriptor, self._pending[: self._chunk])]
            if not self.full:
                moved, self._moved = self._moved, anyio.Event()
                moved.set()

    def _break(self, error: OSError) -> None:
        self.broken = True
        if error.errno != errno.EPIPE:
            self.fault = error.strerror or str(error)
        self._pending.clear()
        if self.on_broken is not None:
            self.on_broken()


def _must_wait(descriptor: int) -> bool:
    """Say whether writes may wait for a reader; plain files and the null device take all."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
