"""What is known of a server process from outside: its last words and how it ended."""

from collections import deque

import anyio

STDERR_LINES = 50
STDERR_LINE_LENGTH = 500


class Watch:
    """Follows one server process from start to end."""

    def __init__(self) -> None:
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._rest = ""
        self.closed = anyio.Event()
        """The connection is dead: the process ended or closed its output."""
        self.exit_code: int | None = None
        self.noise = 0
        """Lines on standard output that were no messages."""
        self.first_noise = ""
        """The first of them."""

    def heard(self, text: str) -> None:
        """Keep what the process wrote to standard error."""
        *lines, self._rest = (self._rest + text).split("\n")
        self._rest = self._rest[-STDERR_LINE_LENGTH:]
        self._stderr.extend(line[:STDERR_LINE_LENGTH].rstrip() for line in lines if line.strip())

    def skipped(self, line: str) -> None:
        """Count a line on standard output that was no message."""
        self.noise += 1
        self.first_noise = self.first_noise or line[:STDERR_LINE_LENGTH]

    def tail(self, lines: int = 10) -> str:
        """Return the last lines of standard error."""
        kept = [*self._stderr, self._rest] if self._rest.strip() else list(self._stderr)
        return "\n".join(kept[-lines:])

    def describe(self) -> str:
        """Say how the process ended and what it said last."""
        parts = [] if self.exit_code is None else [f"exit code {self.exit_code}"]
        if tail := self.tail(5):
            parts.append(f"its last words on stderr: {tail}")
        elif self.noise:
            parts.append(f"{self.noise} lines of its output were no messages: {self.first_noise}")
        return "; ".join(parts)
