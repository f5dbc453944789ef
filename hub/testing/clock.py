"""A clock that moves only when it is told to."""

import heapq
from itertools import count

import anyio
import anyio.lowlevel


class FakeClock:
    """The Clock port for tests: ``sleep`` returns when ``advance`` has moved time far enough.

    With ``patient=False`` a sleep moves the clock itself and returns at once, for code whose
    waits do not matter to the test; ``slept`` then lists them.
    """

    def __init__(self, start: float = 1_000_000_000.0, *, patient: bool = True) -> None:
        self._now = start
        self._patient = patient
        self._order = count()
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._arrived = anyio.Event()
        self.slept: list[float] = []
        """Every wait that was asked for, in seconds."""

    def now(self) -> float:
        """Seconds since 1970, as the test has set them."""
        return self._now

    def monotonic(self) -> float:
        """The same, as a clock that never goes back."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has advanced the clock by so much."""
        self.slept.append(seconds)
        if not self._patient:
            self._now += seconds
            await anyio.lowlevel.checkpoint()
            return
        wake = anyio.Event()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), wake))
        self._arrived.set()
        await wake.wait()

    async def wait_for_sleepers(self, number: int = 1) -> None:
        """Wait until so many tasks sleep on this clock."""
        while len(self._sleepers) < number:
            self._arrived = anyio.Event()
            await self._arrived.wait()

    def advance(self, seconds: float) -> None:
        """Move time and wake whoever is due."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            heapq.heappop(self._sleepers)[2].set()
