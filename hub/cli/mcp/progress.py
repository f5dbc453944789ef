"""One line on stderr that says what is waited for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hub.core.text import one_line


class Progress:
    """The line; where there is no terminal there is none."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown = False
        self._held = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the line away and show none, while the terminal belongs to a question."""
        self.clear()
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def show(self, what: str) -> None:
        """Replace the line."""
        if self._live and not self._held:
            sys.stderr.write(f"\r\x1b[2K… {one_line(what, 70)}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._shown = False
