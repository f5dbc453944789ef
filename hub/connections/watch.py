"""What is known of a server from outside: its last words, its noise, and how it ended."""

import codecs
from collections import deque
from collections.abc import Callable, Mapping

import anyio

from hub.connections.masking import masked

STDERR_LINES = 50
LINE_LENGTH = 500
"""Characters that are kept of one line."""
UNFINISHED = 16 * LINE_LENGTH
"""Characters that are kept of a line without its end, so that a secret in it is whole."""


class Watch:
    """Follows one server from its start to its end."""

    def __init__(self, hear: Callable[[str], None] | None = None) -> None:
        """Take in who else is to hear, line by line, what it writes to standard error."""
        self._hear = hear
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
        self.refusal = ""
        """Why the latest request was refused, where signing in may help; and what to do then."""
        self.remedy = ""
        self.hidden: Mapping[str, str] = {}
        """Values that are never told, each with the reference that is told in its stead."""

    def heard(self, data: bytes) -> None:
        """Keep what the process wrote to standard error."""
        *lines, rest = (self._rest + self._decoder.decode(data)).split("\n")
        self._rest = rest[:UNFINISHED]
        if not lines:
            return
        # What is hidden is hidden before lines are cut, since half a secret is not recognised.
        told = [line.rstrip() for line in self.told("\n".join(lines)).split("\n") if line.strip()]
        self._stderr.extend(line[:LINE_LENGTH] for line in told)
        if self._hear is not None and told:
            self._hear("".join(f"{line}\n" for line in told))

    def skipped(self, line: bytes) -> None:
        """Count a line on standard output that was no message."""
        self.noise += 1
        if not self.first_noise:
            self.first_noise = line[: 4 * LINE_LENGTH].decode("utf-8", "replace")[:LINE_LENGTH]

    def tail(self, lines: int = 10) -> str:
        """Return the last lines of standard error."""
        kept = list(self._stderr)
        if self._rest.strip():
            kept.append(self.told(self._rest)[:LINE_LENGTH])
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
