"""The real clock."""

import time

import anyio


class SystemClock:
    """The Clock port over the operating system's clocks."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; a cancellation point even for zero."""
        await anyio.sleep(seconds)
