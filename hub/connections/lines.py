"""Cuts a stream of bytes into lines, and throws away a line that is longer than a message may be.

Pure, and linear in what it is fed: a flood without a line end costs neither memory nor patience.
"""

from collections.abc import Callable

MAX_LINE = 16 * 1024 * 1024
"""Bytes of one message; a longer line is noise and is thrown away to its end."""
OPENING = 200
"""Bytes of a line that was thrown away that are told."""


class Lines:
    """The lines of one stream."""

    def __init__(self, too_long: Callable[[bytes], None], limit: int = MAX_LINE) -> None:
        self._too_long = too_long
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that a chunk completes, without their ends."""
        first, *rest = chunk.split(b"\n")
        lines: list[bytes] = []
        self._add(first)
        for part in rest:
            if not self._skipping:
                lines.append(b"".join(self._parts))
            self._parts, self._size, self._skipping = [], 0, False
            self._add(part)
        return lines

    def _add(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            self._too_long(b"".join(self._parts)[:OPENING])
            self._parts, self._size, self._skipping = [], 0, True
