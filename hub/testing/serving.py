"""An OpenAI-compatible model server that follows a script, faults included.

In a test: ``async with serve_model(script) as server`` and point a client at
``server.base_url``. As a program: ``python -m hub.testing.model_server FILE``.
"""

import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from hub.core.errors import ModelError
from hub.core.messages import AssistantMessage
from hub.models.script.file import Script, load_scripts, parse_scripts, scripts_from
from hub.models.script.player import Played, Player
from hub.models.script.wire import Fault
from hub.testing.answers import events, usage_of, whole, wire_of
from hub.testing.http_wire import Connection, HttpRequest, MalformedRequest
from hub.testing.reading import Asked, Reader, UnreadableRequest
from hub.testing.request_log import Record, record_of
from hub.testing.sending import Sending
from hub.testing.strict import surrogate_problems, tool_problems

Source = Path | str | Mapping[str, Any]
"""A script file, a script's YAML text, or its data."""

_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
_JSON = {"content-type": "application/json"}


class ModelServer:
    """The running server, as a test sees it."""

    def __init__(
        self, scripts: list[Script], *, strict: bool = True, keep_bodies: bool = True
    ) -> None:
        self._players = [Player(script) for script in scripts]
        self._strict = strict
        self._keep_bodies = keep_bodies
        self._reader = Reader()
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._connections = 0
        self._longest: dict[str, list[Any]] = {}
        self._releases: dict[str, anyio.Event] = {}
        self._news = anyio.Event()
        self.base_url = ""
        """Root of the API, such as ``http://127.0.0.1:4321/v1``."""
        self.requests: list[Record] = []
        """Every request for an answer, in the order of arrival."""
        self.problems: list[str] = []
        """What went wrong beside requests that were refused."""
        self.open_connections = 0
        """How many connections are open now."""

    def release(self, name: str = "") -> None:
        """Let the stalled answers of this name go on, those to come as well."""
        self._gate(name).set()

    async def wait_for(self, condition: Callable[["ModelServer"], bool]) -> None:
        """Wait until a condition holds; it is looked at again after everything that happens.

        Bound it with ``anyio.fail_after``.
        """
        while not condition(self):
            await self._news.wait()

    async def wait_for_requests(self, number: int) -> None:
        """Wait until so many requests have arrived."""
        await self.wait_for(lambda server: len(server.requests) >= number)

    def assert_finished(self) -> None:
        """Raise when a request was refused or an agent has turns left over.

        An agent's turns count as played when its longest conversation has played them.
        """
        problems = [problem for record in self.requests for problem in record.problems]
        problems += self.problems
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
                await self._converse(Connection(stream), number)
        except _GONE:
            pass
        except Exception as error:  # noqa: BLE001 - one connection's fault must not end the others
            self.problems.append(f"the server failed: {error!r}")
        finally:
            self.open_connections -= 1
            self._tell()

    def _gate(self, name: str) -> anyio.Event:
        return self._releases.setdefault(name, anyio.Event())

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def _converse(self, connection: Connection, number: int) -> None:
        try:
            while request := await connection.request():
                if not await self._handle(connection, request, number) or not request.keep_open:
                    return
        except MalformedRequest as error:
            await _refuse(connection, error.status, str(error))

    async def _handle(self, connection: Connection, request: HttpRequest, number: int) -> bool:
        path = request.path.partition("?")[0]
        if request.method == "GET" and path.endswith("/models"):
            names = [{"id": name, "object": "model"} for name in self._names()]
            body = json.dumps({"object": "list", "data": names}).encode()
            await connection.answer(200, body, _JSON)
            return True
        if request.method != "POST" or not path.endswith("/chat/completions"):
            await _refuse(connection, 404, f"there is no {request.method} {path}")
            return True
        record = record_of(request, path, number)
        self.requests.append(record)
        self._tell()
        try:
            return await self._complete(connection, record, request)
        finally:
            record.ended = time.monotonic()
            if not self._keep_bodies:
                record.body = None
            self._tell()

    async def _complete(self, connection: Connection, record: Record, request: HttpRequest) -> bool:
        try:
            player, question, played = self._answer(record, request)
        except (_Refusal, ModelError) as error:
            record.status = 400
            record.problems.append(str(error))
            await _refuse(connection, 400, str(error))
            return True
        fault = self._fault(record, played)
        if fault is None or fault.times is None:
            said = AssistantMessage(played.text, played.calls)
            if len(question.messages) >= len(self._longest.get(player.script.name, ())):
                self._longest[player.script.name] = [*question.messages, said]
        if fault is not None:
            record.status = fault.status
            await connection.answer(fault.status, _fault_body(fault), {**_JSON, **fault.headers})
            return True
        record.status = 200
        return await self._send(connection, record, played, len(request.body))

    def _answer(self, record: Record, request: HttpRequest) -> tuple[Player, Asked, Played]:
        """Return what the script says to a request.

        Raises:
            ModelError: the script has no answer.
            _Refusal: the request is not as it should be.
        """
        if not isinstance(record.body, dict):
            raise _Refusal("the body is no JSON object")
        try:
            question, problems = self._read(record.body, request)
        except (UnreadableRequest, RecursionError) as error:
            raise _Refusal(f"the request cannot be read: {error}") from None
        if problems:
            raise _Refusal("; ".join(problems))
        player = next((p for p in self._players if question.belongs_to(p.script)), None)
        if player is None:
            raise _Refusal("no agent of the script matches the request")
        record.agent = player.script.name
        played = player.play(
            question.messages, instructions=question.instructions, tools=question.tools
        )
        record.answer = played.number
        return player, question, played

    def _read(self, body: dict[str, Any], request: HttpRequest) -> tuple[Asked, list[str]]:
        question, problems = self._reader.read(body, request.headers)
        if not self._strict:
            return question, []
        return question, [
            *problems,
            *tool_problems(body),
            *surrogate_problems(body, request.body),
        ]

    def _fault(self, record: Record, played: Played) -> Fault | None:
        fault = wire_of(played).fault
        if fault is None:
            return None
        self._attempts[record.agent, played.place] += 1
        attempt = self._attempts[record.agent, played.place]
        return fault if fault.times is None or attempt <= fault.times else None

    async def _send(
        self, connection: Connection, record: Record, played: Played, size: int
    ) -> bool:
        model, usage = str(record.body.get("model", "")), usage_of(played, size)
        sending = Sending(connection, wire_of(played), self._gate)
        try:
            if not record.body.get("stream"):
                return await sending.whole(whole(played, model, usage))
            options = record.body.get("stream_options")
            asks = bool(options.get("include_usage")) if isinstance(options, dict) else False
            return await sending.stream(events(played, model, usage, include_usage=asks))
        finally:
            record.client_left = sending.client_left

    def _names(self) -> list[str]:
        named = [str(p.script.match["model"]) for p in self._players if "model" in p.script.match]
        return named or ["scripted"]


@asynccontextmanager
async def serve_model(
    source: Source, *, strict: bool = True, port: int = 0, keep_bodies: bool = True
) -> AsyncIterator[ModelServer]:
    """Serve a script on a port of the loopback interface while the block runs.

    Raises:
        ScriptFileError: the script cannot be read.
        OSError: the port is taken.
    """
    server = ModelServer(_scripts(source), strict=strict, keep_bodies=keep_bodies)
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


class _Refusal(Exception):
    """A request that a strict server would not answer."""


def _scripts(source: Source) -> list[Script]:
    if isinstance(source, Path):
        return load_scripts(source)
    return parse_scripts(source) if isinstance(source, str) else scripts_from(source)


def _fault_body(fault: Fault) -> bytes:
    if isinstance(fault.body, str):
        return fault.body.encode("utf-8", "surrogatepass")
    body = {"error": {"message": "scripted fault"}} if fault.body is None else fault.body
    return json.dumps(body, default=str).encode()


async def _refuse(connection: Connection, status: int, message: str) -> None:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    await connection.answer(status, json.dumps({"error": error}).encode(), _JSON)
