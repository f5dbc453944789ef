"""The tables of the session store, their versions, and the way from an old one to a new one."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from hub.core.errors import StoreError
from hub.sessions.leases import TABLE as LEASES

APPLICATION_ID = 0x48554253
"""Marks a database as a store of sessions; ``HUBS`` in ASCII."""

Statements = tuple[str, ...]

MIGRATIONS: tuple[Statements, ...] = (
    (
        """CREATE TABLE sessions(
            id TEXT PRIMARY KEY NOT NULL,
            parent TEXT NOT NULL,
            role TEXT NOT NULL,
            workspace TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            model TEXT NOT NULL DEFAULT '',
            title TEXT NOT NULL DEFAULT '',
            outcome TEXT NOT NULL DEFAULT '',
            turns INTEGER NOT NULL DEFAULT 0,
            tokens INTEGER NOT NULL DEFAULT 0
        )""",
        "CREATE INDEX sessions_by_parent ON sessions(parent)",
        """CREATE TABLE events(
            session TEXT NOT NULL REFERENCES sessions(id),
            seq INTEGER NOT NULL CHECK (seq > 0),
            at REAL NOT NULL,
            type TEXT NOT NULL,
            line TEXT NOT NULL,
            PRIMARY KEY (session, seq)
        )""",
    ),
    (LEASES,),
)
"""What leads from each version to the next one, the first from an empty file to version 1.

A released entry is never edited: a change of the tables is a new entry.
"""


def prepare(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Statements] = MIGRATIONS
) -> None:
    """Bring a database to the newest version; one that has it already is only looked at.

    An older store is copied to ``<name>.v<version>.bak`` first.

    Raises:
        StoreError: it is of a newer version, or belongs to another program; it was not touched.
        sqlite3.Error: SQLite could not do it; the store is as it was.
    """
    newest = len(migrations)
    version = _version(connection, path, newest)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    if version == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path, newest)
        if 0 < version < newest:
            _back_up(path, version)
        for statements in migrations[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={newest}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read, with the folders that it needs."""
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _version(connection: sqlite3.Connection, path: Path, newest: int) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
    ours = owner == APPLICATION_ID
    if not ours and (owner or version or _has_tables(connection)):
        raise StoreError(
            "this SQLite database belongs to another program",
            where=str(path),
            remedy="Name another folder with HUB_STATE_DIR, or move the file away.",
        )
    if version > newest:
        raise StoreError(
            f"the session store has version {version}; this hub knows versions up to {newest}",
            where=str(path),
            remedy="Install a newer hub, or name another folder with HUB_STATE_DIR.",
        )
    return version


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _back_up(path: Path, version: int) -> None:
    """Copy a store, complete or not at all, through a connection that only reads."""
    target = path.with_name(f"{path.name}.v{version}.bak")
    draft = path.with_name(f"{path.name}.v{version}.draft")
    draft.unlink(missing_ok=True)
    create_private(draft)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(draft)) as copy:
        source.backup(copy)
    draft.replace(target)
