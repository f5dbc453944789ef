"""An OpenAI-compatible model server that follows a script, faults included.

In a test: ``async with serve_model(script) as server`` and point a client at
``server.base_url``. As a program: ``python -m hub.testing.model_server FILE``.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from hub.core.errors import ModelError
from hub.core.messages import AssistantMessage, UserMessage
from hub.models.script_file import Script, load_scripts, parse_scripts, scripts_from
from hub.models.script_player import Played, Player
from hub.testing.answers import conversation, usage_of, whole
from hub.testing.http_wire import Connection, HttpRequest
from hub.testing.sending import Sending
from hub.testing.strict import violations

Source = Path | str | Mapping[str, Any]
"""A script file, a script's YAML text, or its data."""

_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


@dataclass(slots=True)
class Record:
    """One request as the server saw it."""

    at: float
    """Monotonic seconds at which the whole request was there."""
    connection: int
    """Number of the connection, from 1."""
    path: str
    headers: dict[str, str]
    """Names in lower case; the authorization is redacted."""
    body: Any
    agent: str = ""
    status: int = 0
    answer: int = 0
    """Number of the answer in its conversation, from 0."""
    problems: list[str] = field(default_factory=list)
    """Why it was refused."""
    ended: float | None = None
    """Monotonic seconds at which the answer was complete, or the client had gone."""
    client_left: bool = False
    """The client closed the connection before the answer was complete."""


class ModelServer:
    """The running server, as a test sees it."""

    def __init__(self, scripts: list[Script], *, strict: bool) -> None:
        self._players = [Player(script) for script in scripts]
        self._strict = strict
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._connections = 0
        self._longest: dict[str, list[Any]] = {}
        self._releases: dict[str, anyio.Event] = {}
        self._news = anyio.Event()
        self.base_url = ""
        """Root of the API, such as ``http://127.0.0.1:4321/v1``."""
        self.requests: list[Record] = []
        """Every request for an answer, in the order of arrival."""
        self.open_connections = 0
        """How many connections are open now."""

    def release(self, name: str = "") -> None:
        """Let a stalled answer of this name go on."""
        self._gate(name).set()

    async def wait_for(self, condition: Callable[["ModelServer"], bool]) -> None:
        """Wait until a condition holds; it is looked at again after everything that happens.

        Bound it with ``anyio.fail_after``.
        """
        while not condition(self):
            self._news = anyio.Event()
            await self._news.wait()

    async def wait_for_requests(self, number: int) -> None:
        """Wait until so many requests have arrived."""
        await self.wait_for(lambda server: len(server.requests) >= number)

    def assert_finished(self) -> None:
        """Raise when a request was refused or an agent has turns left over.

        An agent's turns count as played when its longest conversation has played them.
        """
        problems = [problem for record in self.requests for problem in record.problems]
        for player in self._players:
            messages = self._longest.get(player.script.name, [])
            problems += [
                f"{player.script.place(turn.line)}: this turn was not played"
                for turn in player.leftover(messages)
            ]
        if problems:
            raise AssertionError("\n".join(problems))

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        """Answer the requests of one connection."""
        self._connections += 1
        number = self._connections
        self.open_connections += 1
        try:
            async with stream:
                connection = Connection(stream)
                while request := await connection.request():
                    if not await self._handle(connection, request, number):
                        return
        except (*_BROKEN, OSError):
            pass
        finally:
            self.open_connections -= 1
            self._tell()

    def _gate(self, name: str) -> anyio.Event:
        return self._releases.setdefault(name, anyio.Event())

    def _tell(self) -> None:
        self._news.set()

    async def _handle(self, connection: Connection, request: HttpRequest, number: int) -> bool:
        path = request.path.partition("?")[0]
        if request.method == "GET" and path.endswith("/models"):
            names = [{"id": name, "object": "model"} for name in self._names()]
            body = json.dumps({"object": "list", "data": names}).encode()
            await connection.answer(200, body, {"content-type": "application/json"})
            return True
        if request.method != "POST" or not path.endswith("/chat/completions"):
            await _refuse(connection, 404, f"there is no {request.method} {path}")
            return True
        record = self._record(request, path, number)
        self._tell()
        try:
            return await self._complete(connection, record)
        finally:
            record.ended = time.monotonic()
            self._tell()

    def _record(self, request: HttpRequest, path: str, number: int) -> Record:
        headers = dict(request.headers)
        if "authorization" in headers:
            headers["authorization"] = "[redacted]"
        try:
            body = json.loads(request.body)
        except ValueError:
            body = None
        record = Record(time.monotonic(), number, path, headers, body)
        self.requests.append(record)
        return record

    async def _complete(self, connection: Connection, record: Record) -> bool:
        if not isinstance(record.body, dict):
            return await self._reject(connection, record, "the body is no JSON object")
        if self._strict and (problems := violations(record.body)):
            return await self._reject(connection, record, "; ".join(problems))
        player = self._player(record)
        if player is None:
            return await self._reject(connection, record, "no agent of the script matches")
        record.agent = player.script.name
        try:
            messages, instructions = conversation(record.body)
            tools = [tool["function"]["name"] for tool in record.body.get("tools") or ()]
        except (AttributeError, KeyError, TypeError) as error:
            return await self._reject(connection, record, f"the body cannot be read: {error!r}")
        try:
            played = player.play(messages, instructions=instructions, tools=tools)
        except ModelError as error:
            return await self._reject(connection, record, str(error))
        record.answer = played.number
        if len(messages) >= len(self._longest.get(player.script.name, ())):
            self._longest[player.script.name] = [*messages, _said(played)]
        return await self._give(connection, record, played, hash(str(messages)))

    async def _give(
        self, connection: Connection, record: Record, played: Played, place: int
    ) -> bool:
        fault = played.turn.wire.get("fault")
        if fault:
            self._attempts[record.agent, place] += 1
            if self._attempts[record.agent, place] <= fault.get("times", 1 << 30):
                record.status = int(fault["status"])
                headers = {str(k): str(v) for k, v in (fault.get("headers") or {}).items()}
                body = fault.get("body", {"error": {"message": "scripted fault"}})
                text = body if isinstance(body, str) else json.dumps(body)
                headers.setdefault("content-type", "application/json")
                await connection.answer(record.status, text.encode(), headers)
                return True
        model = str(record.body.get("model", ""))
        usage = usage_of(played, record.body, len(str(record.body.get("messages"))))
        record.status = 200
        if not record.body.get("stream"):
            body = json.dumps(whole(played, model, usage)).encode()
            await connection.answer(200, body, {"content-type": "application/json"})
            return True
        sending = Sending(connection, played, self._gate)
        options = record.body.get("stream_options") or {}
        complete = await sending.run(model, usage, include_usage=bool(options.get("include_usage")))
        record.client_left = sending.client_left
        return complete

    async def _reject(self, connection: Connection, record: Record, problem: str) -> bool:
        record.status = 400
        record.problems.append(problem)
        await _refuse(connection, 400, problem)
        return True

    def _player(self, record: Record) -> Player | None:
        return next((p for p in self._players if _matches(p.script, record)), None)

    def _names(self) -> list[str]:
        named = [str(p.script.match["model"]) for p in self._players if "model" in p.script.match]
        return named or ["scripted"]


@asynccontextmanager
async def serve_model(
    source: Source, *, strict: bool = True, port: int = 0
) -> AsyncIterator[ModelServer]:
    """Serve a script on a port of the loopback interface while the block runs.

    Raises:
        ScriptFileError: the script cannot be read.
    """
    server = ModelServer(_scripts(source), strict=strict)
    listener = await anyio.create_tcp_listener(
        local_host="127.0.0.1", local_port=port, backlog=1024
    )
    real = listener.extra(anyio.abc.SocketAttribute.local_port)
    server.base_url = f"http://127.0.0.1:{real}/v1"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, server.serve)
        try:
            yield server
        finally:
            group.cancel_scope.cancel()


def _scripts(source: Source) -> list[Script]:
    if isinstance(source, Path):
        return load_scripts(source)
    return parse_scripts(source) if isinstance(source, str) else scripts_from(source)


def _said(played: Played) -> AssistantMessage:
    return AssistantMessage(played.text, played.calls)


def _matches(script: Script, record: Record) -> bool:
    match = script.match
    if "model" in match and record.body.get("model") != match["model"]:
        return False
    for name, value in (match.get("header") or {}).items():
        if record.headers.get(str(name).lower()) != str(value):
            return False
    if not ("system_contains" in match or "task_contains" in match):
        return True
    messages, instructions = conversation(record.body)
    task = next((m.text for m in messages if isinstance(m, UserMessage)), "")
    return _holds(instructions, match.get("system_contains", ())) and _holds(
        task, match.get("task_contains", ())
    )


def _holds(text: str, wanted: Any) -> bool:
    return all(needle in text for needle in ([wanted] if isinstance(wanted, str) else wanted))


async def _refuse(connection: Connection, status: int, message: str) -> None:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    body = json.dumps({"error": error}).encode()
    await connection.answer(status, body, {"content-type": "application/json"})


if __name__ == "__main__":
    from hub.testing.model_command import main

    sys.exit(main())
