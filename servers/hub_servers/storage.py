"""Changes files so that no change is lost: locks, atomic creation, atomic replacement.

A change holds a lock per path within the server, and ``flock`` on the file itself against other
processes and other servers. The new content is written beside the file and renamed over it, so a
reader sees the old or the new file, never half of one. Since the rename gives the path a new
inode, a lock counts only if the path still leads to the locked file. A program that does not lock
is noticed by a last look at the file right before the rename. The mode bits stay; a hard link to
the old file keeps the old content.
"""

import errno
import fcntl
import os
import secrets
import stat
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Larger files are refused."""
INLINE_BYTES = 256 * 1024
"""Files up to this size are handled at once; larger ones in a worker thread."""
LOCK_SECONDS = 10.0
"""How long a change waits for the lock of another process."""

_UNSUPPORTED = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}

Change = Callable[[bytes], bytes]
"""Gets the content of a file and returns the new one; it may raise and may be called again."""


class _BusyError(Exception):
    """Another process holds the lock, or changed the file while we took it."""


class FileStore:
    """Reads and changes files given by resolved absolute paths."""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[Path, anyio.Lock] = weakref.WeakValueDictionary()

    async def read(self, path: Path) -> bytes:
        """Return the content of a regular file.

        Raises:
            OSError: it cannot be read, is not a regular file, or is too large.
        """
        if path.stat().st_size <= INLINE_BYTES:
            return _read(path)
        return await anyio.to_thread.run_sync(_read, path, abandon_on_cancel=True)

    async def create(self, path: Path, data: bytes) -> None:
        """Write a new file, with the folders that it needs.

        Raises:
            FileExistsError: there is one already.
            OSError: it cannot be written.
        """
        if len(data) <= INLINE_BYTES:
            _create(path, data)
        else:
            await anyio.to_thread.run_sync(_create, path, data)

    async def change(self, path: Path, change: Change) -> bytes:
        """Replace the content of a file by what ``change`` makes of it, and return that.

        Raises:
            OSError: it cannot be read or written, or another process keeps it locked.
        """
        lock = self._locks.get(path)
        if lock is None:
            lock = self._locks[path] = anyio.Lock()
        with anyio.move_on_after(LOCK_SECONDS):
            async with lock:
                return await _change_when_free(path, change)
        raise TimeoutError(
            errno.ETIMEDOUT, f"another process kept the file locked for {LOCK_SECONDS:.0f} s"
        )


async def _change_when_free(path: Path, change: Change) -> bytes:
    while True:
        try:
            if path.stat().st_size <= INLINE_BYTES:
                return _change(path, change)
            return await anyio.to_thread.run_sync(_change, path, change)
        except _BusyError:
            await anyio.sleep(0.005)


def _read(path: Path) -> bytes:
    with _opened(path) as descriptor:
        return _content(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open a regular file that is not a link; a pipe or a device must not make us wait."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a device, pipe or socket, not a file")
        yield descriptor
    finally:
        os.close(descriptor)


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    if size > MAX_FILE_BYTES:
        reason = f"the file is too large: {size} bytes, the limit is {MAX_FILE_BYTES}"
        raise OSError(errno.EFBIG, reason)
    parts = []
    while part := os.read(descriptor, max(size + 1, 65536)):
        parts.append(part)
    return b"".join(parts)


def _create(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _write_beside(path, data, 0o666)
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: exclusive, though not at once complete.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        _write_all(os.open(path, flags, 0o666), data)
    finally:
        temporary.unlink()


def _change(path: Path, change: Change) -> bytes:
    with _opened(path) as descriptor:
        before = _lock(descriptor, path)
        old = _content(descriptor)
        new = change(old)
        if new == old:
            return new
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only")
        temporary = _write_beside(path, new, 0o600)
        try:
            _keep_owner_and_mode(temporary, before)
            if _identity(path.stat()) != _identity(before):
                raise _BusyError
            temporary.replace(path)
        except BaseException:
            temporary.unlink()
            raise
        return new


def _lock(descriptor: int, path: Path) -> os.stat_result:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _BusyError from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    ours = os.fstat(descriptor)
    if _identity(path.stat()) != _identity(ours):
        raise _BusyError
    return ours


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size


def _write_beside(path: Path, data: bytes, mode: int) -> Path:
    temporary = path.parent / f".hub-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode)
    try:
        _write_all(descriptor, data)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _write_all(descriptor: int, data: bytes) -> None:
    with open(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]


def _keep_owner_and_mode(temporary: Path, before: os.stat_result) -> None:
    now = temporary.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):
            os.chown(temporary, before.st_uid, before.st_gid)
    temporary.chmod(stat.S_IMODE(before.st_mode))
