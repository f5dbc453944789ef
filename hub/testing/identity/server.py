"""The provider and the MCP server behind it over real sockets, on loopback.

In a test: ``async with serve_identity() as site`` and point a server entry at ``site.url``.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.abc

from hub.testing.http_wire import Connection, HttpRequest, MalformedRequest
from hub.testing.identity.provider import Answer, Knobs, Provider, redirect_of

PATH = "/mcp"
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
_JSON = {"content-type": "application/json"}


class Site:
    """The running site, as a test sees it."""

    def __init__(self, knobs: Knobs) -> None:
        self.knobs = knobs
        self.provider = Provider(knobs)
        self.refused: list[int] = []
        """Status of each request to the MCP server that was not admitted."""
        self.served: list[str] = []
        """Method of each request that was."""
        self._news = anyio.Event()

    @property
    def url(self) -> str:
        """Address of the MCP server."""
        return f"{self.provider.issuer}{PATH}"

    async def browse(self, url: str) -> int:
        """Do what a user's browser does with an address to sign in; return the last status."""
        if self.knobs.wrong_state:
            await _get(f"{redirect_of(url)}?code=stolen&state=guessed")
        status, location = await _get(url)
        return (await _get(location))[0] if location else status

    async def wait_for_refreshes(self, number: int) -> None:
        """Wait until so many renewals were asked for; bound it with ``anyio.fail_after``."""
        while len(self.provider.refreshes) < number:
            await self._news.wait()

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        """Answer the requests of one connection."""
        with suppress(*_GONE, MalformedRequest):
            async with stream:
                connection = Connection(stream)
                while request := await connection.request():
                    answer = await self._answer(request)
                    await connection.answer(answer.status, answer.body, dict(answer.headers))
                    if not request.keep_open:
                        return

    async def _answer(self, request: HttpRequest) -> Answer:
        path, _, query = request.path.partition("?")
        provider = self.provider
        match path:
            case "/.well-known/oauth-authorization-server":
                return provider.metadata()
            case "/.well-known/oauth-protected-resource/mcp" if self.knobs.metadata:
                found = {"resource": self.url, "authorization_servers": [provider.issuer]}
                return Answer(200, json.dumps(found).encode(), _JSON)
            case "/register":
                return provider.register(request.body)
            case "/authorize":
                return provider.authorize(query)
            case "/token":
                return await self._token(request)
            case "/mcp":
                return self._mcp(request)
        return Answer(404)

    async def _token(self, request: HttpRequest) -> Answer:
        answer = self.provider.token(request.body, request.headers.get("authorization", ""))
        self._news.set()
        self._news = anyio.Event()
        if b"grant_type=refresh_token" in request.body:
            await anyio.sleep(self.knobs.refresh_delay)
        return answer

    def _mcp(self, request: HttpRequest) -> Answer:
        scope = self.provider.admits(request.headers.get("authorization", ""))
        if scope is None:
            self.refused.append(401)
            where = f"{self.provider.issuer}/.well-known/oauth-protected-resource{PATH}"
            challenge = f'Bearer resource_metadata="{where}"' if self.knobs.metadata else "Bearer"
            return Answer(401, headers={"www-authenticate": challenge})
        if self.knobs.scope_needed not in ("", *scope.split()):
            self.refused.append(403)
            challenge = f'Bearer error="insufficient_scope", scope="{self.knobs.scope_needed}"'
            return Answer(403, headers={"www-authenticate": challenge})
        if request.method != "POST":
            return Answer(405)
        message = json.loads(request.body)
        self.served.append(message.get("method", ""))
        if "id" not in message:
            return Answer(202)
        return _reply(message)


@asynccontextmanager
async def serve_identity(knobs: Knobs | None = None) -> AsyncIterator[Site]:
    """Serve until the block is left."""
    site = Site(knobs or Knobs())
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    site.provider.issuer = f"http://127.0.0.1:{port}"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, site.serve)
        yield site
        group.cancel_scope.cancel()


def _reply(message: dict[str, Any]) -> Answer:
    """Answer as a server of the handshake era with one tool."""
    result: dict[str, Any]
    match message.get("method"):
        case "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "vault", "version": "1"},
            }
        case "tools/list":
            result = {"tools": [{"name": "open", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": "it is open"}]}
        case _:
            error = {"code": -32601, "message": "Method not found"}
            body = {"jsonrpc": "2.0", "id": message["id"], "error": error}
            return Answer(200, json.dumps(body).encode(), _JSON)
    body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return Answer(200, json.dumps(body).encode(), _JSON)


async def _get(url: str) -> tuple[int, str]:
    """Send a GET as a browser would; return the status and where it leads on."""
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    async with await anyio.connect_tcp(parts.hostname or "", parts.port or 80) as stream:
        head = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
        await stream.send(head.encode())
        data = b""
        with suppress(anyio.EndOfStream):
            while True:
                data += await stream.receive()
    lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    named = {
        name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines[1:])
    }
    return int(lines[0].split()[1]), named.get("location", "")
