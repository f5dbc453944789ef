"""A tree of cancel tokens: cancelling one cancels everything below it, at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import anyio

CancelReason = Literal["user", "parent", "deadline", "budget", "shutdown"]


class CancelToken:
    """The right to stop one agent and all its descendants.

    ``cancel`` is synchronous: when it returns, every scope below is cancelled, and no token below
    lets a new scope start any work.
    """

    def __init__(self, parent: "CancelToken | None" = None) -> None:
        self._parent = parent
        self._children: set[CancelToken] = set()
        self._scopes: set[anyio.CancelScope] = set()
        self.reason: CancelReason | None = None
        """Why it was cancelled; None while it is not."""
        if parent is not None:
            parent._children.add(self)
            self.reason = None if parent.reason is None else _inherited(parent.reason)

    @property
    def cancelled(self) -> bool:
        """Whether a cancel has begun here or above."""
        return self.reason is not None

    def child(self) -> "CancelToken":
        """Open a token below this one; it is born cancelled when this one is."""
        return CancelToken(self)

    def cancel(self, reason: CancelReason = "user") -> None:
        """Cancel this token and all below it. Later calls change nothing."""
        if self.reason is not None:
            return
        self.reason = reason
        for scope in list(self._scopes):
            scope.cancel()
        for child in list(self._children):
            child.cancel(_inherited(reason))

    @contextmanager
    def scope(self) -> Iterator[anyio.CancelScope]:
        """Run the body in a scope that the token cancels; the scope absorbs that cancellation."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                if self.cancelled:
                    scope.cancel()
                yield scope
            finally:
                self._scopes.discard(scope)

    def close(self) -> None:
        """Leave the tree: the work that it guarded has ended."""
        if self._parent is not None:
            self._parent._children.discard(self)


def _inherited(reason: CancelReason) -> CancelReason:
    """Return the reason as those below see it: what a user stops, a parent stops."""
    return "parent" if reason == "user" else reason
