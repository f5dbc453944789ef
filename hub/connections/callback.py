"""The place on loopback to which a browser comes back after the user has signed in.

It takes the one request that carries the state which we gave out; whatever else knocks there, such
as a page that guesses the address, is turned away and ends nothing.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc
from msgspec import Struct, field

PATH = "/callback"
MAX_HEAD = 16 * 1024
HEAD_LIMIT = 10.0
"""Seconds that a request may take to arrive."""
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
_DONE = "hub has its answer. You can close this window and go back to the terminal."
_STRANGE = "This is not the answer that hub waits for."


class Landing(Struct, frozen=True):
    """With what the browser came back."""

    code: str = ""
    state: str = ""
    issuer: str | None = None
    """Who says so (RFC 9207), when the provider tells."""
    error: str = ""
    description: str = ""


class Callback(Struct):
    """The place, while it is open."""

    port: int
    state: str = ""
    """The state that is waited for; nothing is taken while it is empty."""
    _landing: Landing | None = None
    _landed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def address(self) -> str:
        """What the provider is told."""
        return f"http://127.0.0.1:{self.port}{PATH}"

    async def landing(self) -> Landing:
        """Wait for the browser."""
        await self._landed.wait()
        assert self._landing is not None
        return self._landing

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        """Answer one request."""
        with suppress(*_GONE), anyio.move_on_after(HEAD_LIMIT):
            async with stream:
                taken = self._take(await _target(stream))
                await stream.send(_page(200 if taken else 400, _DONE if taken else _STRANGE))

    def _take(self, target: str) -> bool:
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        state = query.get("state", "")
        if parts.path != PATH or not self.state or self._landing is not None:
            return False
        if not secrets.compare_digest(state.encode(), self.state.encode()):
            return False
        if "code" not in query and "error" not in query:
            return False
        self._landing = Landing(
            code=query.get("code", ""),
            state=state,
            issuer=query.get("iss"),
            error=query.get("error", ""),
            description=query.get("error_description", ""),
        )
        self._landed.set()
        return True


@asynccontextmanager
async def open_callback(port: int, *, exact: bool) -> AsyncIterator[Callback]:
    """Listen on loopback until the block is left: on a port, or unless ``exact`` on another.

    Raises:
        OSError: the port cannot be had.
    """
    listener = await _listener(port, exact=exact)
    callback = Callback(listener.extra(anyio.abc.SocketAttribute.local_port))
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, callback.serve)
        yield callback
        group.cancel_scope.cancel()


async def _listener(port: int, *, exact: bool) -> Any:
    try:
        return await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError:
        if exact:
            raise
    return await anyio.create_tcp_listener(local_host="127.0.0.1")


async def _target(stream: anyio.abc.SocketStream) -> str:
    """Return what a GET asks for; empty for anything else."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MAX_HEAD:
        head += await stream.receive()
    words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    return words[1] if len(words) == 3 and words[0] == "GET" else ""


def _page(status: int, text: str) -> bytes:
    body = f"<!doctype html><title>hub</title><p>{text}</p>".encode()
    reason = "OK" if status == 200 else "Bad Request"
    lines = [
        f"HTTP/1.1 {status} {reason}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Connection: close",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
