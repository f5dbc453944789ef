"""The HTTP face of the faulty MCP server, on loopback, one thread per connection.

Streamable HTTP is at one path; the older transport, a stream of events and posts beside it, is at
another.
"""

import json
import socket
import threading
from typing import BinaryIO, NamedTuple
from urllib.parse import parse_qs

from hub.testing.faulty.process import Process
from hub.testing.faulty.response import Response
from hub.testing.faulty.rpc import INVALID_REQUEST, MODERN_VERSION, Message, RpcError, refusal
from hub.testing.faulty.session import Session

PATH = "/mcp"
SSE_PATH = "/sse"
"""Where the older transport's stream of events is."""
POST_PATH = "/messages"
"""Where the older transport takes messages, with the session as a parameter."""
FORGET_PATH = "/forget"
"""A POST here makes the server forget all its sessions."""

_AUTHENTICATE = {"WWW-Authenticate": "Bearer"}
_LATER = {"Retry-After": "1"}


class _Request(NamedTuple):
    """One HTTP request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Sessions:
    """The sessions that the server remembers; a client without a handshake shares one."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.stateless = Session(process, "stateless")
        self._known: dict[str, Session] = {}
        self._opened = 0
        self._lock = threading.Lock()

    def open(self) -> Session:
        """A new session with a name of its own."""
        with self._lock:
            self._opened += 1
            session = Session(self.process, f"session-{self._opened}")
            self._known[session.name] = session
        self.process.log.write("session", session=session.name)
        return session

    def find(self, name: str | None) -> Session | None:
        """The session of that name, unless it was forgotten."""
        return None if name is None else self._known.get(name)

    def forget(self, name: str | None = None) -> None:
        """Forget one session, or all of them."""
        with self._lock:
            names = list(self._known) if name is None else [name]
            for gone in names:
                if self._known.pop(gone, None) is not None:
                    self.process.log.write("forgotten", session=gone)


def serve_http(process: Process, port: int) -> None:
    """Print the server's URL on stdout and answer requests until the process ends."""
    sessions = Sessions(process)
    with socket.create_server(("127.0.0.1", port)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}\n"
        process.log.write("listening", url=address.strip())
        process.say(address)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve_client, args=(sessions, client), daemon=True).start()


def _serve_client(sessions: Sessions, client: socket.socket) -> None:
    reusable = True
    try:
        with client, client.makefile("rb") as reader:
            while reusable:
                request = _read_request(reader)
                if request is None:
                    return
                reusable = _answer(sessions, client, request)
    except OSError:
        return


def _read_request(reader: BinaryIO) -> _Request | None:
    """The next request, or None when the client has nothing more to say."""
    words = reader.readline().decode("latin-1").split()
    if len(words) != 3:
        return None
    headers = {}
    while line := reader.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", "0")))
    return _Request(words[0], words[1], headers, body)


def _answer(sessions: Sessions, client: socket.socket, request: _Request) -> bool:
    """Answer one request; the value says whether the connection can carry another one."""
    name = request.headers.get("mcp-session-id")
    sessions.process.log.write("http", method=request.method, path=request.path, session=name)
    response = Response(client, sessions.process.knobs)
    if request.path == FORGET_PATH:
        sessions.forget()
        response.status(200)
    elif request.path == SSE_PATH and request.method == "GET":
        _stream_events(sessions, response)
    elif request.path.startswith(POST_PATH) and request.method == "POST":
        _take_post(sessions, response, request)
    elif request.path != PATH:
        response.status(404, b"There is nothing here; the server answers at /mcp.")
    elif request.method == "POST":
        return _post(sessions, client, request)
    elif request.method == "DELETE":
        sessions.forget(name)
        response.status(200)
    elif request.method == "GET" and (session := sessions.find(name)) is not None:
        response.stream()
        session.open_stream(response)
        response.withhold()
        session.close_stream(response)
    else:
        response.status(405, b"Method not allowed")
    return response.reusable


def _stream_events(sessions: Sessions, response: Response) -> None:
    """Open a session of the older transport and hold its stream until the client leaves."""
    session = sessions.open()
    response.stream()
    response.event("endpoint", f"{POST_PATH}?session={session.name}".encode())
    session.open_stream(response)
    response.withhold()
    session.close()


def _take_post(sessions: Sessions, response: Response, request: _Request) -> None:
    """Take one message of the older transport; the answer comes over the session's stream."""
    knobs = sessions.process.knobs
    name = parse_qs(request.path.partition("?")[2]).get("session", [""])[0]
    session, message = sessions.find(name), json.loads(request.body)
    if knobs.on("http_status"):
        response.status(knobs.count("http_status"), b"The server cannot answer now.")
    elif session is None:
        response.status(knobs.count("lose_session"), b"Session not found")
    elif "method" not in message or "id" not in message:
        session.notice(message)
        response.status(202)
    else:
        response.status(202)
        answer = session.take(message, session.outlet)
        threading.Thread(target=answer, daemon=True).start()


def _post(sessions: Sessions, client: socket.socket, request: _Request) -> bool:
    knobs = sessions.process.knobs
    response = Response(client, knobs)
    if knobs.on("http_status"):
        code = knobs.count("http_status")
        more = _AUTHENTICATE if code == 401 else _LATER if code in {429, 503} else {}
        response.status(code, b"The server cannot answer now.", **more)
        return True
    if knobs.on("redirect"):
        response.status(307, Location=knobs.text("redirect"))
        return True
    try:
        message = json.loads(request.body)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        response.status(400, b"The body is not one JSON-RPC message.")
        return True
    return _dispatch(sessions, client, request, message)


def _dispatch(
    sessions: Sessions, client: socket.socket, request: _Request, message: Message
) -> bool:
    session = _session_for(sessions, request, message)
    if session is None:
        return _refuse(sessions, client, message)
    named = session.name if message.get("method") == "initialize" else None
    response = Response(client, sessions.process.knobs, named)
    if "method" not in message or "id" not in message:
        session.notice(message)
        response.status(202)
        return True
    session.take(message, response)()
    session.close_stream(response)
    limit = sessions.process.knobs.count("lose_after")
    if limit and session.calls_taken >= limit:
        sessions.forget(session.name)
    return response.reusable


def _session_for(sessions: Sessions, request: _Request, message: Message) -> Session | None:
    method = message.get("method")
    if method == "initialize":
        return sessions.open()
    without_handshake = request.headers.get("mcp-protocol-version") == MODERN_VERSION
    speaks_it = sessions.process.knobs.text("era") in {"both", "modern"}
    if method == "server/discover" or (without_handshake and speaks_it):
        return sessions.stateless
    return sessions.find(request.headers.get("mcp-session-id"))


def _refuse(sessions: Sessions, client: socket.socket, message: Message) -> bool:
    """Answer a message that belongs to no session that the server knows."""
    code = sessions.process.knobs.count("lose_session")
    body = json.dumps(refusal(message, RpcError(INVALID_REQUEST, "Session not found"))).encode()
    Response(client, sessions.process.knobs).status(code, body, "application/json")
    return True
