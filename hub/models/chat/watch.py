"""Ends a request whose answer makes no progress."""

import time

import anyio


class IdleWatch:
    """Moves the deadline of a cancel scope forward for as long as an answer makes progress.

    The deadline is moved at most once per twentieth of the idle time, or per second, so that a
    burst of deltas does not pay for it; it is never early.
    """

    def __init__(self, scope: anyio.CancelScope, *, idle: float, first: float) -> None:
        self._scope = scope
        self._idle = idle
        self._slack = min(idle / 20, 1.0)
        self._moved = time.monotonic()
        self._ending = False
        scope.deadline = anyio.current_time() + first

    def progress(self) -> None:
        """Something came that the answer consists of."""
        now = time.monotonic()
        if now - self._moved >= self._slack and not self._ending:
            self._moved = now
            self._scope.deadline = anyio.current_time() + self._idle + self._slack

    def ending(self, seconds: float) -> None:
        """The answer is whole; only its last bytes are awaited."""
        self._ending = True
        self._idle = seconds
        self.resume()

    def pause(self) -> None:
        """The consumer is slow, which is not the server's fault."""
        self._scope.deadline = float("inf")

    def resume(self) -> None:
        """Count from now."""
        self._scope.deadline = anyio.current_time() + self._idle
