"""How often a server may be started: a few times a minute, then it has to wait."""

from collections import deque

from hub.core.ports import Clock

MAX_STARTS = 5
WINDOW = 60.0
"""Seconds in which so many starts may happen."""


class Restarts:
    """Counts the starts of one server; a successful start does not reset the count."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._starts: deque[float] = deque(maxlen=MAX_STARTS)

    def wait(self) -> float:
        """Return the seconds until the next start is allowed; 0 when it is allowed now."""
        if len(self._starts) < MAX_STARTS:
            return 0.0
        return max(self._starts[0] + WINDOW - self._clock.monotonic(), 0.0)

    def started(self) -> None:
        """Count a start."""
        self._starts.append(self._clock.monotonic())
