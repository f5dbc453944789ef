"""The files that a report names: whether they are there, and how they were when it came."""

import hashlib
import os
import stat
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import anyio.to_thread

from hub.core.acceptance import FileVersion

MAX_CLAIMED = 500
"""Files of one report that are looked at; the others count as missing."""
MAX_BYTES = 256 * 1024 * 1024
"""Bytes that are read for one report; of files beyond that, size and time are all that is told."""
_CHUNK = 1024 * 1024


async def looked_up(
    workspace: Path, names: Sequence[str]
) -> tuple[tuple[FileVersion, ...], tuple[str, ...]]:
    """Return the files that are in the workspace, as they are now, and the names of the others."""
    if not names:
        return (), ()
    return await anyio.to_thread.run_sync(_looked_up, workspace, names, abandon_on_cancel=True)


def _looked_up(
    workspace: Path, names: Sequence[str]
) -> tuple[tuple[FileVersion, ...], tuple[str, ...]]:
    root = workspace.resolve()
    unique = dict.fromkeys(names)
    versions: dict[str, FileVersion | None] = {}
    room = MAX_BYTES
    for name in islice(unique, MAX_CLAIMED):
        version = versions[name] = _version(root, name, room)
        room -= version.size if version is not None and version.sha256 else 0
    found = tuple(version for version in versions.values() if version is not None)
    return found, tuple(name for name in unique if versions.get(name) is None)


def _version(root: Path, name: str, room: int) -> FileVersion | None:
    try:
        path = (root / name).resolve()
        if not name.strip() or not path.is_relative_to(root):
            return None
        # Nothing is waited for: a pipe has no end, and a device may answer to being opened.
        if not stat.S_ISREG(path.stat().st_mode):
            return _of_folder(name, path)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, RuntimeError, ValueError):  # absent, unreadable, a circle of links, a NUL
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        sha256 = ""
        if stat.S_ISREG(status.st_mode) and status.st_size <= room:
            digest = hashlib.sha256()
            left = status.st_size
            while left > 0 and (chunk := file.read(min(_CHUNK, left))):
                digest.update(chunk)
                left -= len(chunk)
            sha256 = digest.hexdigest()
        return FileVersion(name, status.st_size, status.st_mtime, sha256)


def _of_folder(name: str, path: Path) -> FileVersion:
    status = path.stat()
    return FileVersion(name, status.st_size, status.st_mtime)
