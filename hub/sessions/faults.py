"""What SQLite complains of, as errors that say which file, what happened and what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hub.core.errors import StoreError

_KEPT = "What was stored before is kept."
_MOVE = "Name another folder with HUB_STATE_DIR, or "


@contextmanager
def told(path: Path, connection: sqlite3.Connection | None = None) -> Iterator[None]:
    """Turn what SQLite or the file system raises in the body into a StoreError.

    With a connection, a damaged file is looked over to say what is wrong with it.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error, connection) from error
    except OSError as error:
        raise StoreError(
            f"the session store cannot be opened: {error.strerror or error}",
            where=str(path),
            remedy=f"{_MOVE}make this one writable.",
        ) from error


def store_error(
    path: Path, error: sqlite3.Error, connection: sqlite3.Connection | None = None
) -> StoreError:
    """Return the StoreError for a complaint of SQLite."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_CORRUPT:
        return _damaged(path, error, connection)
    what, remedy = _MEANING.get(code, (f"the session store fails: {error}", ""))
    return StoreError(what, where=str(path), remedy=remedy)


_MEANING = {
    sqlite3.SQLITE_FULL: (
        "the disk is full, so nothing more can be stored",
        f"Free some space and run it again. {_KEPT}",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk did not take what was to be stored",
        f"Look at the disk's space and health. {_KEPT}",
    ),
    sqlite3.SQLITE_READONLY: (
        "the session store may be read but not written",
        f"{_MOVE}make the file and its folder writable.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the session store cannot be opened",
        f"{_MOVE}make the file and its folder readable and writable.",
    ),
    sqlite3.SQLITE_PERM: (
        "the session store may not be opened",
        f"{_MOVE}make the file and its folder readable and writable.",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process has held the session store for too long",
        f"Wait until it is done, or end it. {_KEPT}",
    ),
    sqlite3.SQLITE_NOTADB: (
        "this file is not a session store; it is no SQLite database at all",
        "Move it away; a new store is made when there is none.",
    ),
}


def _damaged(path: Path, error: sqlite3.Error, connection: sqlite3.Connection | None) -> StoreError:
    found = _look_over(connection) if connection is not None else ""
    return StoreError(
        f"the session store is damaged: {found or error}",
        where=str(path),
        remedy=f"Move it away to start anew. `sqlite3 {path} .recover` saves what can be read.",
    )


def _look_over(connection: sqlite3.Connection) -> str:
    """Check the whole file and return the first thing that is wrong with it."""
    try:
        row = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error:
        return ""
    return "" if row is None or row[0] == "ok" else " ".join(str(row[0]).split())
