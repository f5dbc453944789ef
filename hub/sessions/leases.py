"""One writer at a time: a session, with everything below it, belongs to the process that holds it.

A lease is a row in the store's own database, so that taking one is a single transaction whoever
else tries. It names its process; one whose process is gone is taken over, however that ended.
"""

import sqlite3
import time

from hub.core.errors import SessionBusyError
from hub.core.ids import new_id
from hub.sessions.owner import Owner

TABLE = """CREATE TABLE leases(
    session TEXT PRIMARY KEY NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    boot TEXT NOT NULL,
    host TEXT NOT NULL,
    taken REAL NOT NULL,
    token TEXT NOT NULL
)"""
_HELD = "SELECT pid, started, boot, host, taken, token FROM leases WHERE session = ?"
_TAKE = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?)"
_LEAVE = "DELETE FROM leases WHERE session = ? AND token = ?"
_LIVE: set[str] = set()
"""Tokens of the stores that are open in this process."""


class Tenant:
    """One open store, as leases know it: a process, and which of its stores."""

    def __init__(self) -> None:
        self._owner = Owner.here()
        self._token = new_id("l")
        self._held: set[str] = set()

    def take(self, connection: sqlite3.Connection, session: str, now: float) -> None:
        """Become the writer of a session; a lease whose process is gone is taken over.

        Raises:
            SessionBusyError: a process that runs, or another store of this one, holds it.
            sqlite3.Error: the database cannot be written.
        """
        if session in self._held:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._require_free(connection, session)
            owner = self._owner
            row = (session, owner.pid, owner.started, owner.boot, owner.host, now, self._token)
            connection.execute(_TAKE, row)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        _LIVE.add(self._token)
        self._held.add(session)

    def leave(self, connection: sqlite3.Connection) -> None:
        """Give up every lease of this store.

        Raises:
            sqlite3.Error: the database cannot be written.
        """
        _LIVE.discard(self._token)
        for session in sorted(self._held):
            connection.execute(_LEAVE, (session, self._token))
        self._held.clear()

    def _require_free(self, connection: sqlite3.Connection, session: str) -> None:
        row = connection.execute(_HELD, (session,)).fetchone()
        if row is None:
            return
        holder, taken, token = Owner(*row[:4]), row[4], row[5]
        held = token in _LIVE if holder == self._owner else holder.is_running()
        if held:
            raise _busy(session, holder, taken)


def _busy(session: str, holder: Owner, taken: float) -> SessionBusyError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(taken))
    place = f" on {holder.host}" if holder.elsewhere else ""
    return SessionBusyError(
        f"process {holder.pid}{place} is at work on the session {session} since {since}",
        remedy=f"Wait for its end, look on with: hub sessions show {session}, or go on with a "
        f"copy: hub run --fork {session} …",
    )
