"""One HTTP response of the faulty MCP server: JSON or an event stream, whole, torn or never."""

import json
import select
import socket
import threading
import time
from contextlib import suppress

from hub.testing.faulty.knobs import Knobs
from hub.testing.faulty.results import RAW_BYTE
from hub.testing.faulty.rpc import Message

_RAW = json.dumps(RAW_BYTE)[1:-1].encode()
_LOOK = 0.02
"""Seconds between two looks whether the client has left."""


class Response:
    """The answer to one request; as an outlet, it becomes an event stream when it has to."""

    def __init__(self, client: socket.socket, knobs: Knobs, session: str | None = None) -> None:
        self.reusable = True
        """Whether the connection can carry another request after this one."""
        self._client = client
        self._knobs = knobs
        self._session = session
        self._streaming = False
        self._lock = threading.Lock()

    def status(self, code: int, body: bytes = b"", kind: str = "text/plain", **more: str) -> None:
        """Answer with a status and a whole body."""
        self._write(self._head(code, kind, **{"Content-Length": str(len(body))}, **more) + body)

    def stream(self) -> None:
        """Begin an event stream."""
        self.reusable = False
        self._streaming = True
        self._write(self._head(200, "text/event-stream", Connection="close"))

    def event(self, name: str, data: bytes) -> None:
        """Write one event to a stream that has begun."""
        self._write(b"event: " + name.encode() + b"\ndata: " + data + b"\n\n")

    def send(self, message: Message) -> None:
        """Write one message, as JSON if it is the whole answer and as an event otherwise."""
        is_reply = "method" not in message
        body = json.dumps(message).encode().replace(_RAW, b"\xe9")
        with self._lock:
            if is_reply and not self._streaming and not self._knobs.on("sse_replies"):
                self.status(200, body, "application/json")
                return
            if not self._streaming:
                self.stream()
            self.event("message", body)
        if is_reply and self._knobs.on("endless_sse"):
            self.withhold()

    def tear(self, message: Message) -> None:
        """Write half of the body that was promised, and close."""
        body = json.dumps(message).encode()
        head = self._head(200, "application/json", **{"Content-Length": str(len(body))})
        self._write(head + body[: len(body) // 2])
        self.drop()

    def drop(self) -> None:
        """Close the connection without a word."""
        self.reusable = False
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def withhold(self) -> None:
        """Keep the request without an answer until the client leaves."""
        self.reusable = False
        while not self.gone():
            time.sleep(_LOOK)

    def gone(self) -> bool:
        """Whether the client has closed the connection."""
        try:
            readable, _, _ = select.select([self._client], [], [], 0)
            return bool(readable) and not self._client.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def _head(self, code: int, kind: str, **more: str) -> bytes:
        headers = {"Content-Type": kind, **more}
        if self._session is not None:
            headers["Mcp-Session-Id"] = self._session
        lines = [f"HTTP/1.1 {code} Status", *(f"{name}: {text}" for name, text in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def _write(self, data: bytes) -> None:
        try:
            self._client.sendall(data)
        except OSError:
            self.reusable = False
