"""The event store with what people ask of it: lists, look-ups and logs that tell what is lost."""

from typing import Protocol

from hub.core.ports import EventStore
from hub.sessions.lines import Log
from hub.sessions.summary import SessionInfo


class SessionArchive(EventStore, Protocol):
    """An event store that can be searched by people."""

    def read(self, session: str, *, after: int = 0) -> Log:
        """Return a session's events in order with what could not be read."""
        ...

    def list_sessions(
        self, limit: int = 20, *, workspace: str | None = None, roots_only: bool = True
    ) -> list[SessionInfo]:
        """Return the sessions that were used last, latest first."""
        ...

    def get_session(self, id_or_prefix: str) -> SessionInfo:
        """Return the session that an id, or the beginning of one, names.

        Raises:
            UsageError: no stored session fits, or several do.
        """
        ...

    def children(self, session: str) -> list[SessionInfo]:
        """Return the sessions that a session dispatched, in the order of their start."""
        ...

    def hold(self, session: str) -> None:
        """Become the only writer of a stored session and of the tree that it belongs to.

        Raises:
            SessionBusyError: another writer is at work on the tree.
        """
        ...

    def close(self) -> None:
        """Let go of what the store holds; it opens again when it is used again."""
        ...
