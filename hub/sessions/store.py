"""The event store over one SQLite file; it implements the EventStore port and SessionArchive.

Each event is one transaction in a write-ahead log with ``synchronous=NORMAL``: what ``append``
returned from survives a killed process. A power cut or a crash of the operating system may lose
the latest transactions, those since the last checkpoint, but never leaves a broken file.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hub.core.errors import StoreError
from hub.core.events import AnyEvent, Event
from hub.sessions.faults import store_error, told
from hub.sessions.leases import Tenant
from hub.sessions.lines import Log, Skipped, decode, encode, read_log
from hub.sessions.naming import SHOWN, only_one, unknown
from hub.sessions.schema import create_private, prepare
from hub.sessions.summary import Change, SessionInfo, change_of

BUSY_SECONDS = 5.0
"""How long to wait for another process that is writing."""
PAGE = 500
"""Lines that are read at a time; between two pages the store is free."""
RECENT = 1000
"""Sessions among which the nearest to a mistyped id is looked for."""

_INSERT = "INSERT INTO events(session, seq, at, type, line) VALUES (?, ?, ?, ?, ?)"
_UPDATE = """
    UPDATE sessions SET updated = ?, model = coalesce(?, model),
        title = CASE title WHEN '' THEN coalesce(?, '') ELSE title END,
        outcome = coalesce(?, outcome), turns = coalesce(?, turns), tokens = tokens + ?
    WHERE id = ?"""
_LINES = """
    SELECT seq, CAST(line AS BLOB) FROM events WHERE session = ? AND seq > ?
    ORDER BY seq LIMIT ?"""
_INFO = """
    SELECT id, parent, role, workspace, created, updated, model, title, outcome, turns, tokens,
        (WITH RECURSIVE tree(member) AS (
            VALUES (found.id)
            UNION SELECT sessions.id FROM sessions JOIN tree ON sessions.parent = tree.member
         ) SELECT sum(tokens) FROM sessions JOIN tree ON sessions.id = tree.member)
    FROM sessions AS found """


class SqliteStore:
    """The sessions of one user in one file, which several processes may use at once.

    Making one touches nothing: the file and its folder come into being with the first write, and
    reading where there is no file finds nothing. It belongs to the thread that uses it first.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._opened: sqlite3.Connection | None = None
        self._tenant = Tenant()
        self._positions: dict[str, int] = {}  # of sessions that were written here; may be behind

    def create(self, session: str, *, parent: str, role: str, workspace: str) -> None:
        """Register a session before its first event.

        Raises:
            StoreError: it cannot be stored, or the id is taken.
        """
        now = self._now()
        row = (session, parent, role, workspace, now, now)
        with told(self._path, self._opened):
            connection = self._connection()
            try:
                connection.execute(
                    "INSERT INTO sessions(id, parent, role, workspace, created, updated) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    row,
                )
            except sqlite3.IntegrityError:
                raise StoreError(
                    f"a session {session!r} is stored already", where=str(self._path)
                ) from None
            if not parent:
                self._tenant.take(connection, session, now)
        self._positions[session] = 0

    def append(self, event: Event) -> None:
        """Store one event in one transaction; when it returns, a killed process keeps it.

        Raises:
            StoreError: it could not be stored; nothing of it was.
        """
        session, seq = event.session, event.seq
        position = self._positions.get(session)
        if position is None or seq != position + 1:
            position = self._position(session)
        if seq != position + 1:
            raise StoreError(
                f"event {seq} of session {session!r} cannot follow event {position}",
                where=str(self._path),
            )
        row = (session, seq, event.at, getattr(event, "type", ""), encode(event))
        change = change_of(event)
        connection = self._connection()
        try:
            if change is None:
                connection.execute(_INSERT, row)
            else:
                self._insert_with(change, row, connection)
        except sqlite3.IntegrityError:
            raise self._collision(session, seq) from None
        except sqlite3.Error as error:
            raise store_error(self._path, error, connection) from error
        self._positions[session] = seq

    def events(self, session: str, *, after: int = 0) -> Iterator[AnyEvent]:
        """Read a session's events in order, from ``after`` on; unreadable ones are left out.

        Raises:
            StoreError: the store cannot be read.
        """
        for seq, line in self._lines(session, after):
            event = decode(line, session, seq)
            if not isinstance(event, Skipped):
                yield event

    def read(self, session: str, *, after: int = 0) -> Log:
        """Return a session's events in order with what could not be read.

        Raises:
            StoreError: the store cannot be read.
        """
        return read_log(session, self._lines(session, after), after=after)

    def list_sessions(
        self, limit: int = 20, *, workspace: str | None = None, roots_only: bool = True
    ) -> list[SessionInfo]:
        """Return the sessions that were used last, latest first.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._infos(
            "WHERE (parent = '' OR NOT ?) AND (? IS NULL OR workspace = ?) "
            "ORDER BY updated DESC, id DESC LIMIT ?",
            (roots_only, workspace, workspace, limit),
        )

    def get_session(self, id_or_prefix: str) -> SessionInfo:
        """Return the session that an id, or the beginning of one, names.

        Raises:
            UsageError: no stored session fits, or several do.
            StoreError: the store cannot be read.
        """
        typed = id_or_prefix
        found = self._infos(
            "WHERE ? <> '' AND substr(id, 1, length(?)) = ? ORDER BY id = ? DESC, updated DESC, "
            "id DESC LIMIT ?",
            (typed, typed, typed, typed, SHOWN + 1),
        )
        if found:
            return only_one(typed, found)
        recent = self._rows("SELECT id FROM sessions ORDER BY updated DESC LIMIT ?", (RECENT,))
        raise unknown(typed, [row[0] for row in recent])

    def children(self, session: str) -> list[SessionInfo]:
        """Return the sessions that a session dispatched, in the order of their start.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._infos("WHERE parent = ? AND parent <> '' ORDER BY created, rowid", (session,))

    def hold(self, session: str) -> None:
        """Become the only writer of a stored session and of the tree that it belongs to.

        Raises:
            SessionBusyError: a process that runs is at work on the tree.
            StoreError: the store cannot be used.
        """
        root = session
        while found := self._rows("SELECT parent FROM sessions WHERE id = ?", (root,)):
            if not found[0][0]:
                break
            root = found[0][0]
        connection = self._connection()
        with told(self._path, connection):
            self._tenant.take(connection, root, self._now())

    def close(self) -> None:
        """Give up what it holds and close the file; it is opened again when it is used again."""
        connection, self._opened = self._opened, None
        if connection is not None:
            try:
                with suppress(sqlite3.Error):  # a lease that stays is taken over later
                    self._tenant.leave(connection)
            finally:
                connection.close()

    def _connection(self) -> sqlite3.Connection:
        """Return the open file, creating it if there is none."""
        if self._opened is None:
            with told(self._path):
                create_private(self._path)
                connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
                try:
                    with told(self._path, connection):
                        prepare(connection, self._path)
                except BaseException:
                    connection.close()
                    raise
            self._opened = connection
        return self._opened

    def _insert_with(
        self, change: Change, row: tuple[object, ...], connection: sqlite3.Connection
    ) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(_INSERT, row)
            connection.execute(
                _UPDATE,
                (
                    change.updated,
                    change.model,
                    change.title,
                    change.outcome,
                    change.turns,
                    change.tokens,
                    row[0],
                ),
            )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _position(self, session: str) -> int:
        found = self._rows(
            "SELECT (SELECT max(seq) FROM events WHERE session = id) FROM sessions WHERE id = ?",
            (session,),
        )
        if not found:
            raise StoreError(f"no session {session!r} is registered", where=str(self._path))
        position: int = found[0][0] or 0
        return position

    def _lines(self, session: str, after: int) -> Iterator[tuple[int, bytes]]:
        while page := self._rows(_LINES, (session, after, PAGE)):
            yield from page
            after = page[-1][0]

    def _infos(self, where: str, values: tuple[object, ...]) -> list[SessionInfo]:
        return [SessionInfo(*row) for row in self._rows(_INFO + where, values)]

    def _rows(self, query: str, values: tuple[object, ...]) -> list[Any]:
        if self._opened is None and not self._path.exists():
            return []
        connection = self._connection()
        with told(self._path, connection):
            return connection.execute(query, values).fetchall()

    def _collision(self, session: str, seq: int) -> StoreError:
        return StoreError(
            f"another process has stored event {seq} of session {session!r}",
            where=str(self._path),
            remedy="Let one process at a time go on with a session; start a new one beside it.",
        )
