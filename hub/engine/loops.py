"""Notices when an agent does the same thing again and again to the same effect.

A call counts together with its result: the same call with other results is work. Calls of one tool
with one result belong together when their arguments are the same, or when one only repeats parts of
the other, or when the agent only says more of the same around them. Alternating calls are each seen
often enough, since a window of calls is looked at and no streak.
"""

import hashlib
import json
from collections import Counter, deque
from itertools import count

from msgspec import Struct

from hub.core.messages import ToolCall, ToolOutcome

WINDOW = 24
"""How many of the latest calls count."""
REPEATS = 6
"""How often one call with one result may be among them."""
LONGEST = 20_000
"""Characters of a text up to which it is compared with another for repeated parts."""

NUDGE = (
    "You have made the same call with the same result {times} times. It will not change. "
    "Use what you know, try something else, or finish and say what is missing."
)


class _Seen(Struct, frozen=True):
    """One call of the window."""

    effect: bytes
    """Mark of the tool and its result."""
    arguments: str
    said: str
    """What the agent said with it."""
    kin: int
    """Number of the calls that it belongs together with."""


class LoopDetector:
    """Counts calls to the same effect in a window, so that A-B-A-B counts too."""

    def __init__(self) -> None:
        self._recent: deque[_Seen] = deque(maxlen=WINDOW)
        self._numbers = count()

    def saw(self, call: ToolCall, outcome: ToolOutcome, said: str = "") -> bool:
        """Record a call, its result and what was said with it; say whether it is one too many."""
        effect = _mark(call.name, outcome.text, str(outcome.is_error))
        arguments, said = _compact(call.arguments), said.strip()
        kin = next(
            (seen.kin for seen in reversed(self._recent) if _akin(seen, effect, arguments, said)),
            None,
        )
        kin = next(self._numbers) if kin is None else kin
        self._recent.append(_Seen(effect, arguments, said, kin))
        return Counter(seen.kin for seen in self._recent)[kin] >= REPEATS

    def forget(self) -> None:
        """Start counting anew, after a nudge."""
        self._recent.clear()


def grows(before: str, after: str) -> bool:
    """Say whether a text is another one with nothing but parts of it put in again, at one place.

    What was put in is made of one part of the text before, as often as may be.
    """
    room = len(after) - len(before)
    if not before or room <= 0 or len(after) > LONGEST:
        return False
    head = _common(before, after)
    tail = min(_common(before[::-1], after[::-1]), len(before))
    if head + tail < len(before):
        return False
    added = after[head : head + room]
    return added in before or added[: _period(added)] in before


def _akin(seen: _Seen, effect: bytes, arguments: str, said: str) -> bool:
    if seen.effect != effect:
        return False
    return seen.arguments == arguments or grows(seen.arguments, arguments) or grows(seen.said, said)


def _mark(*parts: str) -> bytes:
    text = "\0".join(parts)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _compact(arguments: str) -> str:
    """Return arguments as they are compared: the order of keys and the spaces say nothing."""
    try:
        text = json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=False)
    except ValueError:
        text = arguments
    return text if len(text) <= LONGEST else _mark(text).hex()


def _common(a: str, b: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _period(text: str) -> int:
    """Return the length of the shortest part of which a text is a whole number of repetitions."""
    return (text + text).find(text, 1)
