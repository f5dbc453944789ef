"""Requests to a scripted model server by hand, byte for byte."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc

from hub.testing.serving import ModelServer

USER = {"role": "user", "content": "hi"}
LAST = b"0\r\n\r\n"


def script(*turns: dict[str, Any]) -> dict[str, Any]:
    """Return a script of one agent."""
    return {"script": 1, "turns": list(turns)}


def post(body: Any, *headers: str, path: str = "/v1/chat/completions") -> bytes:
    """Return the bytes of a request."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", f"content-length: {len(data)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def ask(*messages: Any, **more: Any) -> dict[str, Any]:
    """Return the body of a request for a stream."""
    return {"model": "m", "messages": list(messages) or [USER], "stream": True, **more}


@asynccontextmanager
async def connected(server: ModelServer) -> AsyncIterator[anyio.abc.SocketStream]:
    """Open a connection to the server."""
    port = int(server.base_url.split(":")[2].split("/")[0])
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        yield stream


async def received(stream: anyio.abc.SocketStream, until: bytes = LAST) -> bytes:
    """Return what comes up to some bytes, or up to the end."""
    got = b""
    with anyio.fail_after(10):
        while until not in got:
            try:
                got += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                break
    return got


async def exchanged(server: ModelServer, data: bytes, until: bytes = LAST) -> bytes:
    """Send bytes on a connection of their own and return the answer."""
    async with connected(server) as stream:
        await stream.send(data)
        return await received(stream, until)


def texts(answer: bytes) -> str:
    """Return the text of a streamed answer."""
    events = [line[6:] for line in answer.splitlines() if line.startswith(b"data: {")]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)
