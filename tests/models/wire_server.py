"""A server that answers with exactly the bytes that a test gives it."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketStream

TLS_HELLO = b"\x16"
Step = bytes | anyio.Event


@dataclass
class Seen:
    """One request as it arrived."""

    head: str
    body: bytes
    closed: anyio.Event = field(default_factory=anyio.Event)
    """Set when the client has closed the connection before the answer was over."""
    closed_at: float = 0.0

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    def header(self, name: str) -> str:
        for line in self.head.split("\r\n"):
            if line.lower().startswith(f"{name}:"):
                return line.partition(":")[2].strip()
        return ""


class WireServer:
    """Plays one answer for each request, the last one again and again.

    An answer is a list of bytes to send and events to wait for; after the last step the
    connection is closed unless the answer is a complete HTTP message.
    """

    def __init__(self, answers: Sequence[Sequence[Step]]) -> None:
        self.answers = answers
        self.requests: list[Seen] = []
        self.connections = 0
        self.url = ""
        self.news = anyio.Event()

    async def wait_for_requests(self, number: int) -> None:
        while len(self.requests) < number:
            self.news = anyio.Event()
            await self.news.wait()

    async def serve(self, stream: SocketStream) -> None:
        self.connections += 1
        async with stream:
            buffer = b""
            try:
                while True:
                    buffer = await self._one(stream, buffer)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def _one(self, stream: SocketStream, buffer: bytes) -> bytes:
        while b"\r\n\r\n" not in buffer:
            buffer += await stream.receive()
            if buffer.startswith(TLS_HELLO):
                await stream.send(b"HTTP/1.1 400 Speak HTTP\r\n\r\n")
                raise anyio.EndOfStream
        head, _, buffer = buffer.partition(b"\r\n\r\n")
        seen = Seen(head.decode("latin-1"), b"")
        length = int(seen.header("content-length") or 0)
        while len(buffer) < length:
            buffer += await stream.receive()
        seen.body, buffer = buffer[:length], buffer[length:]
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(seen)
        self.news.set()
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, stream, seen, group.cancel_scope)
            for step in answer:
                if isinstance(step, bytes):
                    await stream.send(step)
                else:
                    await step.wait()
            group.cancel_scope.cancel()
        if seen.closed.is_set() or not _keeps(answer):
            raise anyio.EndOfStream
        return buffer

    async def _watch(self, stream: SocketStream, seen: Seen, scope: anyio.CancelScope) -> None:
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            seen.closed_at = anyio.current_time()
            seen.closed.set()
            scope.cancel()


def _keeps(answer: Sequence[Step]) -> bool:
    last = answer[-1] if answer else b""
    first = answer[0] if answer else b""
    return isinstance(last, bytes) and (
        last.endswith(b"0\r\n\r\n") or (isinstance(first, bytes) and b"content-length" in first)
    )


@asynccontextmanager
async def wire_server(*answers: Sequence[Step]) -> AsyncIterator[WireServer]:
    """Serve the answers on a free port of this machine."""
    server = WireServer(answers)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    server.url = f"http://127.0.0.1:{port}/v1"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, server.serve)
        yield server
        group.cancel_scope.cancel()


def stream_head(kind: str = "text/event-stream") -> bytes:
    """Return the head of a chunked answer."""
    return (
        f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
    ).encode()


def framed(data: bytes) -> bytes:
    """Return bytes as one chunk of a chunked answer."""
    return b"%x\r\n%s\r\n" % (len(data), data)


END = b"0\r\n\r\n"


def streamed(*events: bytes) -> list[Step]:
    """Return a complete answer of these events, each in a chunk of its own."""
    return [stream_head(), *(framed(event) for event in events), END]


def cut(*events: bytes) -> list[Step]:
    """Return an answer whose connection breaks after these events."""
    return [stream_head(), *(framed(event) for event in events)]


def plain(body: Any, status: str = "200 OK", *headers: str) -> list[Step]:
    """Return an answer with a JSON or text body."""
    text = body if isinstance(body, str) else json.dumps(body)
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(text.encode())}", *headers]
    return ["\r\n".join(lines).encode() + b"\r\n\r\n" + text.encode()]


def failure(status: int, message: str, *headers: str, **more: Any) -> list[Step]:
    """Return an error as OpenAI writes it."""
    return plain({"error": {"message": message, **more}}, f"{status} No", *headers)
