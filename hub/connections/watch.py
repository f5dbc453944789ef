"""What is known of a server from outside: its last words, its noise, and how it ended."""

import codecs
from collections import deque
from collections.abc import Mapping

import anyio

from hub.connections.masking import masked

STDERR_LINES = 50
LINE_LENGTH = 500
"""Characters that are kept of one line."""


class Watch:
    """Follows one server from its start to its end."""

    def __init__(self) -> None:
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.closed = anyio.Event()
        """The connection is dead: the process ended or closed its output."""
        self.silent = anyio.Event()
        """Standard error has been read to its end."""
        self.exit_code: int | None = None
        self.noise = 0
        """Lines on standard output that were no messages."""
        self.first_noise = ""
        """The first of them."""
        self.status = 0
        """HTTP status of the latest request that was refused; 0 when the latest was not."""
        self.hidden: Mapping[str, str] = {}
        """Values that are never told, each with the reference that is told in its stead."""

    def heard(self, data: bytes) -> None:
        """Keep what the process wrote to standard error."""
        *lines, rest = (self._rest + self._decoder.decode(data)).split("\n")
        self._rest = rest[:LINE_LENGTH]
        self._stderr.extend(line[:LINE_LENGTH].rstrip() for line in lines if line.strip())

    def skipped(self, line: bytes) -> None:
        """Count a line on standard output that was no message."""
        self.noise += 1
        if not self.first_noise:
            self.first_noise = line[: 4 * LINE_LENGTH].decode("utf-8", "replace")[:LINE_LENGTH]

    def tail(self, lines: int = 10) -> str:
        """Return the last lines of standard error."""
        kept = [*self._stderr, self._rest] if self._rest.strip() else list(self._stderr)
        return self.told("\n".join(kept[-lines:]))

    def describe(self) -> str:
        """Say how the process ended and what it said last."""
        parts = [] if self.exit_code is None else [f"exit code {self.exit_code}"]
        if self.status:
            parts.append(f"HTTP status {self.status}")
        if tail := self.tail(5):
            parts.append(f"its last words on stderr: {tail}")
        if self.noise:
            parts.append(f"{self.noise} lines of its output were no messages: {self.first_noise}")
        return self.told("; ".join(parts))

    def told(self, text: str) -> str:
        """Return a text about the server as others may read it."""
        return masked(text, self.hidden)
