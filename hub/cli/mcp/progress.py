"""One line on stderr that says what is waited for."""

import sys

from hub.core.text import one_line


class Progress:
    """The line; where there is no terminal there is none."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown = False

    def show(self, what: str) -> None:
        """Replace the line."""
        if self._live:
            sys.stderr.write(f"\r\x1b[2K… {one_line(what, 70)}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._shown = False
