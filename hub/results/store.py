"""The folder of large results: files named by the digest of what they hold.

``blobs/<sha256>`` holds the bytes, ``trees/<root session>/<handle>`` says which of them a session
tree may read. All of it belongs to the user alone. What was not read for a long time goes, and so
do the oldest when the folder takes too much room.
"""

import hashlib
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, json

DAY = 86_400
LARGEST = 64 * 1024 * 1024
"""Bytes of one result that are kept; no transport of ours carries as much."""
HANDLE = re.compile(r"res_[0-9a-f]{16}")
"""How a handle looks."""


class Entry(Struct, frozen=True):
    """What a handle opens."""

    digest: str
    size: int
    """Bytes."""
    part: str
    """Of its result: ``text``, ``structured`` or ``block N``."""
    media_type: str = "text/plain"


class Missing(Exception):
    """A handle that opens nothing, or nothing any more; the message is for the model."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ResultStore:
    """Large results of all session trees of a user."""

    def __init__(self, folder: Path, *, keep_days: int = 30, quota: int = 1 << 30) -> None:
        """Take a folder, which need not exist yet; ``quota`` is in bytes."""
        self._blobs = folder / "blobs"
        self._trees = folder / "trees"
        self._keep = keep_days * DAY
        self._quota = quota
        self._taken = -1
        self._lock = threading.Lock()

    def put(self, tree: str, data: bytes, *, part: str, media_type: str) -> tuple[str, Entry]:
        """Keep some bytes for a session tree and return their handle.

        The same bytes have the same handle within a tree, and are on disk once.

        Raises:
            OSError: they cannot be written, or are more than ``LARGEST``.
        """
        if len(data) > LARGEST:
            raise OSError(f"it is larger than {LARGEST >> 20} MiB")
        digest = hashlib.sha256(data).hexdigest()
        entry = Entry(digest, len(data), part, media_type)
        handle = "res_" + hashlib.sha256(f"{tree}/{digest}".encode()).hexdigest()[:16]
        blob = self._blobs / digest
        if not _touched(blob):
            _write(blob, data)
        note = self._trees / tree / handle
        if not _touched(note):
            _write(note, json.encode(entry))
        self._make_room(len(data), newest=digest)
        return handle, entry

    def find(self, tree: str, handle: str) -> Entry | None:
        """Return what a handle of a session tree opens; None when the tree has no such handle."""
        if not HANDLE.fullmatch(handle):
            return None
        with suppress(OSError, DecodeError, ValidationError):
            return json.decode((self._trees / tree / handle).read_bytes(), type=Entry)
        return None

    def read(self, entry: Entry) -> bytes:
        """Return the bytes of an entry.

        Raises:
            Missing: they are not there any more, or not as they were.
        """
        path = self._blobs / entry.digest
        try:
            data = path.read_bytes()
        except OSError:
            raise Missing(
                "The result is not kept any more; make the call again that gave it."
            ) from None
        if hashlib.sha256(data).hexdigest() != entry.digest:
            raise Missing("The kept result is damaged; make the call again that gave it.")
        _touched(path)
        return data

    def _make_room(self, more: int, *, newest: str) -> None:
        """Throw away what is old, the first time, and whenever there is too much."""
        with self._lock:
            if 0 <= self._taken <= self._quota - more:
                self._taken += more
                return
            now = time.time()
            oldest_first = sorted(_files(self._blobs))
            self._taken = sum(size for _, size, _ in oldest_first)
            for modified, size, path in oldest_first:
                old = now - modified > self._keep
                if path.name != newest and (old or self._taken > self._quota):
                    with suppress(OSError):
                        path.unlink()
                        self._taken -= size
            self._forget_trees(now)

    def _forget_trees(self, now: float) -> None:
        """Throw away the handles of trees that made none for as long as results are kept."""
        with suppress(OSError):
            for tree in os.scandir(self._trees):
                if now - tree.stat().st_mtime > self._keep:
                    shutil.rmtree(tree.path, ignore_errors=True)


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                stat = entry.stat()
                yield stat.st_mtime, stat.st_size, Path(entry.path)


def _touched(path: Path) -> bool:
    """Mark a file as just used; say whether it is there."""
    try:
        os.utime(path)
    except OSError:
        return False
    return True


def _write(path: Path, data: bytes) -> None:
    """Write a file in one step, for its owner alone."""
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
