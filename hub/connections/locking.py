"""A lock that tasks of all processes of a machine share; it ends with the process that holds it."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

FIRST_PAUSE = 0.01
LONGEST_PAUSE = 0.2
"""Seconds between two tries grow from the one to the other."""
_PRIVATE = 0o600

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@asynccontextmanager
async def file_lock(path: Path, *, limit: float) -> AsyncIterator[None]:
    """Hold the lock that a file stands for; the file is made and stays.

    Raises:
        TimeoutError: somebody else held it for ``limit`` seconds.
        OSError: the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE)
    try:
        with anyio.fail_after(limit):
            pause = FIRST_PAUSE
            while not _try_lock(descriptor):
                await anyio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        yield
    finally:
        os.close(descriptor)
