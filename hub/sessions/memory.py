"""An event store that keeps everything in memory and forgets it with the process.

It implements the EventStore port and SessionArchive as the SQLite store does, down to the form of
a line, for programs that want no files and for tests.
"""

import time
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.errors import StoreError
from hub.core.events import AnyEvent, Event
from hub.sessions.lines import Log, Skipped, decode, encode, read_log
from hub.sessions.naming import only_one, unknown
from hub.sessions.summary import SessionInfo, change_of, changed


class _Stored(Struct):
    info: SessionInfo
    lines: list[bytes] = field(default_factory=list)
    children: "list[_Stored]" = field(default_factory=list)


class MemoryStore:
    """The sessions of one process."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._sessions: dict[str, _Stored] = {}

    def create(self, session: str, *, parent: str, role: str, workspace: str) -> None:
        """Register a session before its first event.

        Raises:
            StoreError: the id is taken.
        """
        if session in self._sessions:
            raise StoreError(f"a session {session!r} is stored already")
        now = self._now()
        info = SessionInfo(session, parent, role, workspace, created=now, updated=now)
        stored = self._sessions[session] = _Stored(info)
        if parent in self._sessions and parent != session:
            self._sessions[parent].children.append(stored)

    def append(self, event: Event) -> None:
        """Store one event.

        Raises:
            StoreError: it does not follow the latest event of its session; it was not stored.
        """
        stored = self._sessions.get(event.session)
        if stored is None:
            raise StoreError(f"no session {event.session!r} is registered")
        position = len(stored.lines)
        if event.seq != position + 1:
            raise StoreError(
                f"event {event.seq} of session {event.session!r} cannot follow event {position}"
            )
        stored.lines.append(encode(event).encode())
        change = change_of(event)
        if change is not None:
            stored.info = changed(stored.info, change)

    def events(self, session: str, *, after: int = 0) -> Iterator[AnyEvent]:
        """Read a session's events in order, from ``after`` on; unreadable ones are left out."""
        for seq, line in self._lines(session, after):
            event = decode(line, session, seq)
            if not isinstance(event, Skipped):
                yield event

    def read(self, session: str, *, after: int = 0) -> Log:
        """Return a session's events in order with what could not be read."""
        return read_log(session, self._lines(session, after), after=after)

    def list_sessions(
        self, limit: int = 20, *, workspace: str | None = None, roots_only: bool = True
    ) -> list[SessionInfo]:
        """Return the sessions that were used last, latest first."""
        found = (
            stored
            for stored in self._sessions.values()
            if workspace in {None, stored.info.workspace}
            and not (roots_only and stored.info.parent)
        )
        return [_with_tree(stored) for stored in _latest_first(found)[:limit]]

    def get_session(self, id_or_prefix: str) -> SessionInfo:
        """Return the session that an id, or the beginning of one, names.

        Raises:
            UsageError: no stored session fits, or several do.
        """
        found = [
            stored
            for name, stored in self._sessions.items()
            if id_or_prefix and name.startswith(id_or_prefix)
        ]
        if not found:
            raise unknown(id_or_prefix, self._sessions)
        infos = [_with_tree(stored) for stored in _latest_first(found)]
        return only_one(id_or_prefix, infos)

    def children(self, session: str) -> list[SessionInfo]:
        """Return the sessions that a session dispatched, in the order of their start."""
        parent = self._sessions.get(session)
        return [_with_tree(child) for child in parent.children] if parent else []

    def hold(self, session: str) -> None:
        """Do nothing; nobody else can write what only this process has."""

    def close(self) -> None:
        """Do nothing; memory needs no closing, and what is stored stays."""

    def _lines(self, session: str, after: int) -> Iterator[tuple[int, bytes]]:
        stored = self._sessions.get(session)
        if stored is None:
            return
        for seq in range(max(after, 0) + 1, len(stored.lines) + 1):
            yield seq, stored.lines[seq - 1]


def _with_tree(stored: _Stored) -> SessionInfo:
    tokens, waiting = 0, [stored]
    while waiting:
        below = waiting.pop()
        tokens += below.info.tokens
        waiting.extend(below.children)
    return replace(stored.info, tree_tokens=tokens)


def _latest_first(found: Iterable[_Stored]) -> list[_Stored]:
    return sorted(found, key=lambda stored: (stored.info.updated, stored.info.id), reverse=True)
