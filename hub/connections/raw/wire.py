"""Requests and their replies as plain JSON, over whatever carries them.

A server that is tested is to be seen as it is, so nothing is mended, nothing is repeated, and each
reply says what came: a result, an error, silence, or the end of the connection.
"""

import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import anyio
from msgspec import Struct, field

from hub.version import __version__

HANDSHAKE = "2025-11-25"
"""The version that is offered in a handshake."""
MODERN = "2026-07-28"
"""The version of requests without a handshake."""
KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
METHOD_NOT_FOUND = -32601
PATIENCE = 10.0
"""Seconds that a reply is waited for unless told otherwise."""
CLIENT = {"name": "hub-mcp-test", "version": __version__}

Era = Literal["handshake", "modern"]
Json = dict[str, Any]
Send = Callable[[Json, Mapping[str, str]], Awaitable[None]]
"""Sends a message; the headers count over HTTP only."""


class Reply(Struct, frozen=True):
    """What came of one request."""

    kind: Literal["result", "error", "silent", "closed"]
    result: Any = None
    code: Any = None
    """Code of an error, whatever the server put there."""
    message: str = ""
    took: float = 0.0
    """Seconds from the request to the reply."""

    @property
    def ok(self) -> bool:
        """Say whether a result came."""
        return self.kind == "result"

    @property
    def words(self) -> str:
        """Say what came instead of a result."""
        match self.kind:
            case "error":
                return f"the error {self.code}: {self.message}"
            case "silent":
                return f"no answer within {self.took:.1f} s"
            case "closed":
                return "the end of the connection"
            case "result":
                return "a result"


class Traffic(Struct):
    """What a server sent beside the replies that were asked for."""

    noise: list[str] = field(default_factory=list)
    """Lines on standard output that were no messages, the first few."""
    noise_count: int = 0
    not_utf8: int = 0
    """Messages with bytes that were not UTF-8."""
    strays: int = 0
    """Replies to requests that nobody made, or that had one already."""
    requests: list[str] = field(default_factory=list)
    """Methods that the server called at the client."""
    malformed: list[str] = field(default_factory=list)
    """What was wrong about messages, one entry each."""


class Wire:
    """One conversation with a server."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[anyio.Event, list[Json]]] = {}
        self._closed = anyio.Event()
        self.era: Era = "handshake"
        """In ``modern`` each request carries version and client."""
        self.traffic = Traffic()

    def closed(self) -> bool:
        """Say whether the server has ended the conversation."""
        return self._closed.is_set()

    async def ask(
        self, method: str, params: Json | None = None, *, limit: float = PATIENCE
    ) -> Reply:
        """Send a request and return what comes of it; never raises."""
        number, started = next(self._ids), anyio.current_time()
        event, answers = anyio.Event(), list[Json]()
        self._waiting[number] = (event, answers)
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        stamped = self._stamped(params)
        if stamped is not None:
            message["params"] = stamped
        try:
            with anyio.move_on_after(limit):
                await self._deliver(message)
                await self._either(event)
        finally:
            if not answers:
                self._waiting.pop(number, None)
        took = anyio.current_time() - started
        if not answers:
            return Reply("closed" if self.closed() else "silent", took=took)
        return _reply(answers[0], took)

    async def tell(self, method: str) -> None:
        """Send a notification."""
        with anyio.move_on_after(PATIENCE):
            await self._deliver({"jsonrpc": "2.0", "method": method})

    def take(self, message: Any) -> Json | None:
        """Take a message of the server; return what it has to be answered, if anything."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.traffic.malformed.append("a message is no JSON-RPC 2.0 object")
            return None
        if "method" in message:
            if "id" not in message:
                return None
            self.traffic.requests.append(str(message["method"]))
            error = {"code": METHOD_NOT_FOUND, "message": "the client offers nothing"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        waiting = self._waiting.pop(_number(message.get("id")), None)
        if waiting is None:
            self.traffic.strays += 1
            return None
        event, answers = waiting
        answers.append(message)
        event.set()
        return None

    def close(self) -> None:
        """The server has ended the conversation."""
        self._closed.set()

    async def _deliver(self, message: Json) -> None:
        if self.closed():
            return
        headers = {} if self.era == "handshake" else _headers(message)
        try:
            await self._send(message, headers)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.close()

    async def _either(self, event: anyio.Event) -> None:
        """Return when the reply is there or none can come any more."""
        async with anyio.create_task_group() as group:

            async def leave_on(one: anyio.Event) -> None:
                await one.wait()
                group.cancel_scope.cancel()

            group.start_soon(leave_on, event)
            group.start_soon(leave_on, self._closed)

    def _stamped(self, params: Json | None) -> Json | None:
        if self.era == "handshake":
            return params
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        return {**(params or {}), "_meta": meta}


def _headers(message: Json) -> dict[str, str]:
    """Return the headers that a modern request has to carry over HTTP."""
    headers = {"mcp-protocol-version": MODERN, "mcp-method": str(message["method"])}
    params = message.get("params") or {}
    name = params.get("name") or params.get("uri")
    return headers | ({"mcp-name": name} if isinstance(name, str) and name.isascii() else {})


def _number(value: Any) -> int:
    """Return the id of a reply as the number that was sent; some servers make a text of it."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return -1


def _reply(message: Json, took: float) -> Reply:
    if "error" in message:
        error = message["error"] if isinstance(message["error"], dict) else {}
        return Reply("error", None, error.get("code"), str(error.get("message", "")), took)
    return Reply("result", message.get("result"), took=took)
