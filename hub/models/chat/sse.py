"""Server-sent events out of raw bytes, whatever the network did to their boundaries."""

import re

from pydantic_core import from_json

MAX_EVENT = 64 * 1024 * 1024
"""Bytes that one event, or a whole answer that is no event stream, may have."""

_FIELD = re.compile(rb":|(?:data|event|id|retry)\b")
_BOM = b"\xef\xbb\xbf"


class NotEvents(ValueError):
    """The bytes are neither an event stream nor JSON."""


class EventSplitter:
    """Cuts a stream of bytes into the data of its events.

    Takes CR, LF and CRLF, comments, ``data:`` with and without a blank, several data lines in one
    event, events without a blank line between them, and an answer that is plain JSON.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self.plain: bool | None = None
        """Whether the bytes are JSON as a whole; None until the first ones have come."""
        self.found = 0
        """How many events have come."""
        self.head = b""
        """The first bytes of the stream, for an error message."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take some bytes and return the data of every event that they complete.

        Raises:
            NotEvents: the stream is a web page, or an event is too long.
        """
        if not chunk:
            return []
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_lf(chunk)
        if self.plain is None:
            chunk = self._start(b"".join((*self._parts, chunk)))
        if self.plain or b"\n" not in chunk:
            self._keep(chunk)
            return []
        if self._parts:
            chunk = b"".join((*self._parts, chunk))
            self._parts.clear()
        *events, rest = chunk.split(b"\n\n")
        self._size = 0
        if rest:
            self._keep(rest)
        found: list[bytes] = []
        for event in events:
            if event[:6] == b"data: " and b"\n" not in event:
                found.append(event[6:])
            else:
                found.extend(_data(event))
        self.found += len(found)
        return found

    def close(self) -> list[bytes]:
        """Return what is left when the stream has ended."""
        rest = b"".join(self._parts)
        self._parts.clear()
        found = [rest] if self.plain else _data(rest)
        self.found += len(found)
        return found

    @property
    def strange(self) -> bool:
        """Whether the stream had bytes, but nothing like an event or a comment."""
        return bool(self.head) and not self.found and not _FIELD.match(self.head)

    def _keep(self, chunk: bytes) -> None:
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > MAX_EVENT:
            raise NotEvents(f"one event is longer than {MAX_EVENT} bytes")

    def _with_lf(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _start(self, chunk: bytes) -> bytes:
        self._parts.clear()
        start = chunk.removeprefix(_BOM).lstrip()
        if not start or _BOM.startswith(start):
            return start
        self.head = start[:200]
        if start[:1] == b"<":
            raise NotEvents(f"a web page: {self.head.decode(errors='replace')}")
        self.plain = start[:1] in {b"{", b"["}
        return start


def _data(event: bytes) -> list[bytes]:
    lines = [
        line[6:] if line[5:6] == b" " else line[5:]
        for line in event.split(b"\n")
        if line.startswith(b"data:")
    ]
    if len(lines) < 2:
        return lines
    whole = b"\n".join(lines)
    try:
        from_json(whole)
    except ValueError:
        return lines
    return [whole]
