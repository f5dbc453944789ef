"""When a failed request is sent again, and how long to wait before."""

import email.utils
import math
import random
from collections.abc import Mapping

from hub.core.ports import Clock
from hub.models.chat.fault import AttemptFailed

FIRST_DELAY = 0.5
MAX_DELAY = 30.0
MAX_ASKED = 120.0
"""Seconds that a server may ask to wait; for more, the request fails at once."""
CONNECT_RETRIES = 2
CONNECT_DELAY = 0.2


class Retries:
    """Counts the failures of one request and spends its retries."""

    def __init__(self, limit: int, clock: Clock, dice: random.Random) -> None:
        self._limit = limit
        self._clock = clock
        self._dice = dice
        self._connects = 0
        self._once = False
        self.failed = 0
        """How many attempts have failed."""

    def delay(self, failure: AttemptFailed) -> float | None:
        """Return the seconds until the next attempt, or None when there is none.

        The wait doubles from failure to failure and is jittered to between half and all of it; a
        server's ``Retry-After`` replaces it when it is longer.
        """
        self.failed += 1
        if failure.again == "never" or self.failed > self._limit:
            return None
        if failure.again == "connect":
            self._connects += 1
            if self._connects > CONNECT_RETRIES:
                return None
            return self._jittered(CONNECT_DELAY * 3 ** (self._connects - 1))
        if failure.again == "once":
            if self._once:
                return None
            self._once = True
            return self._jittered(FIRST_DELAY)
        own = self._jittered(min(FIRST_DELAY * 2 ** (self.failed - 1), MAX_DELAY))
        asked = asked_delay(failure.headers, self._clock.now())
        if asked is None:
            return own
        return None if asked > MAX_ASKED else max(asked, own)

    def _jittered(self, seconds: float) -> float:
        return seconds * (0.5 + self._dice.random() / 2)


def asked_delay(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait, from ``Retry-After`` and its relatives."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            seconds = _until(value, now)
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    return None


def _until(date: str, now: float) -> float:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp() - now
    except (ValueError, OverflowError):
        return math.nan
