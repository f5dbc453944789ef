"""As much of HTTP/1.1 as a scripted model server needs: requests in, raw bytes out."""

import re
from http import HTTPStatus

import anyio
import anyio.abc
from msgspec import Struct

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
LAST_CHUNK = b"0\r\n\r\n"

_REQUEST_LINE = re.compile(r"(?P<method>[A-Z]{1,20}) (?P<path>[!-~]+) HTTP/1\.(?P<minor>[01])")
_LENGTH = re.compile(r"[0-9]{1,12}")
_CHUNK = re.compile(rb"(?P<size>[0-9A-Fa-f]{1,10})[ \t]*(?:;.*)?", re.DOTALL)
_GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class MalformedRequest(Exception):
    """What a client sent is no request; the connection is of no further use."""

    def __init__(self, problem: str, status: int = 400) -> None:
        super().__init__(problem)
        self.status = status


class HttpRequest(Struct, frozen=True):
    """One request with its whole body."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    keep_open: bool
    """The client may send another request on the same connection."""


class Connection:
    """One client connection that carries requests one after another."""

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._buffer = b""

    async def request(self) -> HttpRequest | None:
        """Read the next request; None when the client has gone.

        Raises:
            MalformedRequest: it is none, or too large.
        """
        found = await self._until(b"\r\n\r\n", MAX_HEAD)
        if found is None:
            return None
        first, *lines = found.decode("latin-1").lstrip("\r\n").split("\r\n")
        opening = _REQUEST_LINE.fullmatch(first)
        if opening is None:
            raise MalformedRequest("the first line is no request line of HTTP/1.1")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        body = await self._body(headers)
        wish = headers.get("connection", "" if opening["minor"] == "1" else "close").lower()
        path = opening["path"]
        keep_open = wish != "close"
        return (
            None if body is None else HttpRequest(opening["method"], path, headers, body, keep_open)
        )

    async def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send a whole answer."""
        await self.send(head(status, {**headers, "content-length": str(len(body))}) + body)

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._stream.send(data)

    async def wait_for_close(self) -> None:
        """Return when the client closes the connection."""
        while await self._more():
            pass

    async def abort(self) -> None:
        """Cut the connection without a goodbye."""
        await anyio.aclose_forcefully(self._stream)

    async def _body(self, headers: dict[str, str]) -> bytes | None:
        if headers.get("expect", "").lower() == "100-continue":
            await self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return await self._chunked()
        digits = headers.get("content-length", "0")
        if not _LENGTH.fullmatch(digits):
            raise MalformedRequest("the content-length is no number")
        return await self._exactly(_allowed(int(digits)))

    async def _chunked(self) -> bytes | None:
        parts: list[bytes] = []
        total = 0
        while (line := await self._until(b"\r\n", MAX_HEAD)) is not None:
            match = _CHUNK.fullmatch(line)
            if match is None:
                raise MalformedRequest("a chunk of the body has no size")
            size = int(match["size"], 16)
            total = _allowed(total + size)
            if size == 0:
                while line:
                    line = await self._until(b"\r\n", MAX_HEAD)
                return None if line is None else b"".join(parts)
            part = await self._exactly(size + 2)
            if part is None:
                return None
            parts.append(part[:-2])
        return None

    async def _until(self, mark: bytes, limit: int) -> bytes | None:
        while mark not in self._buffer:
            if len(self._buffer) > limit:
                raise MalformedRequest("the head of the request is too long", 431)
            if not await self._more():
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
        except _GONE:
            return False
        return True


def head(status: int, headers: dict[str, str]) -> bytes:
    """Return the status line and headers of an answer."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    """Return one piece of a chunked body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _allowed(length: int) -> int:
    if length > MAX_BODY:
        raise MalformedRequest("the body is too large", 413)
    return length
