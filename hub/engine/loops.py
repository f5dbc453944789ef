"""Notices when an agent does the same thing again and again to the same effect."""

import hashlib
from collections import Counter, deque

from hub.core.messages import ToolCall, ToolOutcome

WINDOW = 24
"""How many of the latest calls count."""
REPEATS = 6
"""How often one call with one result may be among them."""

NUDGE = (
    "You have made the same call with the same result {times} times. It will not change. "
    "Use what you know, try something else, or finish and say what is missing."
)


class LoopDetector:
    """Counts identical calls with identical results in a window, so that A-B-A-B counts too."""

    def __init__(self) -> None:
        self._recent: deque[bytes] = deque(maxlen=WINDOW)

    def saw(self, call: ToolCall, outcome: ToolOutcome) -> bool:
        """Record a call and its result; say whether it has been seen too often."""
        text = "\0".join((call.name, call.arguments, outcome.text, str(outcome.is_error)))
        mark = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        self._recent.append(mark)
        return Counter(self._recent)[mark] >= REPEATS

    def forget(self) -> None:
        """Start counting anew, after a nudge."""
        self._recent.clear()
