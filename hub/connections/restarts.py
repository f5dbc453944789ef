"""How often a server may be started: a few times a minute, then at growing intervals.

The first starts are free, since they happen only on demand. Whoever needs more than a few within a
minute is in a crash loop: one try after a pause, and after each that fails a longer pause. A start
that stays up, or that ends because nobody needed it, ends the loop.
"""

import random
from collections import deque
from collections.abc import Callable

from hub.core.ports import Clock

MAX_STARTS = 5
WINDOW = 60.0
"""Seconds in which so many starts may happen."""
STABLE = 60.0
"""Seconds after which a server that is up has proved that it can stay."""
LONGEST = 900.0
"""Seconds that the pauses of a crash loop grow to."""
JITTER = 0.2
"""Part of a pause that chance may take off, so that several hubs do not try together."""


class Restarts:
    """Counts the starts of one server; a successful start does not reset the count."""

    def __init__(self, clock: Clock, chance: Callable[[], float] = random.random) -> None:
        self._clock = clock
        self._chance = chance
        self._starts: deque[float] = deque(maxlen=MAX_STARTS)
        self._until = 0.0
        """No start before this moment."""
        self._tries = 0
        """Single tries since the loop was noticed."""
        self._looping = False

    def wait(self) -> float:
        """Return the seconds until the next start is allowed; 0 when it is allowed now."""
        return max(self._until - self._clock.monotonic(), 0.0)

    def recent(self) -> int:
        """Return how many starts of the last minute count."""
        earliest = self._clock.monotonic() - WINDOW
        return sum(start > earliest for start in self._starts)

    def started(self) -> None:
        """Count a start."""
        now = self._clock.monotonic()
        due = now >= self._until
        self._starts.append(now)
        if self._looping and due:
            self._tries += 1
            pause = min(WINDOW * 2**self._tries, LONGEST)
            self._until = now + pause * (1 - JITTER * self._chance())
        elif not self._looping and self.recent() >= MAX_STARTS:
            self._looping = True
            self._until = self._starts[0] + WINDOW

    def ended(self, stayed: float) -> None:
        """Take in that the latest start has ended by itself, after so many seconds of being up."""
        if stayed >= STABLE:
            self.reset()

    def forgive(self) -> None:
        """Take in that the latest start ended because nobody needed the server any more."""
        if self._starts:
            self._starts.pop()
        self._until, self._tries, self._looping = 0.0, 0, False

    def reset(self) -> None:
        """Forget everything."""
        self._starts.clear()
        self._until, self._tries, self._looping = 0.0, 0, False
