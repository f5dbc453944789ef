"""As much of HTTP/1.1 as a scripted model server needs: requests in, raw bytes out."""

from dataclasses import dataclass

import anyio
import anyio.abc

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
_REASONS |= {429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request with its whole body."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Connection:
    """One client connection that carries requests one after another."""

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._buffer = b""

    async def request(self) -> HttpRequest | None:
        """Read the next request; None when the client has gone or sends no HTTP."""
        head = await self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        words, digits = first.split(" "), headers.get("content-length", "0")
        if len(words) != 3 or not digits.isascii() or not digits.isdigit():
            return None
        method, path, length = words[0], words[1], int(digits)
        if length > MAX_BODY:
            return None
        body = await self._exactly(length)
        return None if body is None else HttpRequest(method, path, headers, body)

    async def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send a whole answer."""
        await self.send(head(status, {**headers, "content-length": str(len(body))}) + body)

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._stream.send(data)

    async def wait_for_close(self) -> None:
        """Return when the client closes the connection."""
        while True:
            try:
                self._buffer += await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def abort(self) -> None:
        """Cut the connection without a goodbye."""
        await anyio.aclose_forcefully(self._stream)

    async def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._buffer:
            if len(self._buffer) > MAX_HEAD or not await self._more():
                return None
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    async def _exactly(self, length: int) -> bytes | None:
        parts, have = [self._buffer], len(self._buffer)
        while have < length:
            self._buffer = b""
            if not await self._more():
                return None
            parts.append(self._buffer)
            have += len(self._buffer)
        whole = b"".join(parts)
        self._buffer = whole[length:]
        return whole[:length]

    async def _more(self) -> bool:
        try:
            self._buffer += await self._stream.receive(1 << 20)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        return True


def head(status: int, headers: dict[str, str]) -> bytes:
    """Return the status line and headers of an answer."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """Return one piece of a chunked body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


LAST_CHUNK = b"0\r\n\r\n"
