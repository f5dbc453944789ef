"""The calls of one connection that are under way: which of them a question belongs to, how long."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import anyio
from msgspec import Struct, field

from hub.core.ports import CallContext


class Pending(Struct, eq=False):
    """One request of ours under way, as long as a server may ask something for it."""

    scope: anyio.CancelScope
    """Whose deadline is that of the request."""
    context: CallContext | None = None
    """The call that it serves; None for prompts and resources."""
    samples: int = 0
    """How many answers of a model it has cost."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """It has ended, and nobody needs an answer any more."""
    waited: float = 0.0
    """Seconds for which its clock stood still."""
    _waiting: int = 0
    _since: float = 0.0
    _left: float = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Stop the clock of the request while somebody else has to answer."""
        if not self._waiting:
            self._since = anyio.current_time()
            self._left = self.scope.deadline - self._since
            self.scope.deadline = float("inf")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                now = anyio.current_time()
                self.waited += now - self._since
                self.scope.deadline = now + self._left

    def extend(self, deadline: float) -> None:
        """Give the request until then, unless its clock stands still."""
        if not self._waiting:
            self.scope.deadline = deadline


_OURS: ContextVar[Pending | None] = ContextVar("pending", default=None)
"""The request in whose context we are, where the transport tells."""


class Requests:
    """All that is under way over one connection."""

    def __init__(self) -> None:
        self._open: list[Pending] = []

    @contextmanager
    def request(
        self, scope: anyio.CancelScope, context: CallContext | None = None
    ) -> Iterator[Pending]:
        """Hold a request open."""
        pending = Pending(scope, context)
        self._open.append(pending)
        token = _OURS.set(pending)
        try:
            yield pending
        finally:
            _OURS.reset(token)
            self._open.remove(pending)
            pending.over.set()

    def concerned(self) -> Sequence[Pending]:
        """Return the request that a question of the server belongs to, or all that it may be."""
        ours = _OURS.get()
        return (ours,) if ours is not None and ours in self._open else tuple(self._open)
