"""One call of a tool: its deadline, its progress, and what is said when it comes to nothing.

What is said of a call that came to nothing holds exactly one of ``did not run``, ``may have run``
and ``ran``; the kind of the outcome tells which, as ``FATES`` says.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, Literal

import anyio
from mcp import MCPError, types
from mcp.shared.dispatcher import ProgressFnT
from pydantic import TypeAdapter, ValidationError

from hub.connections.connection import Connection
from hub.connections.faults import is_closed, is_unreached
from hub.connections.link import Link
from hub.connections.pending import Pending
from hub.connections.results import outcome_of
from hub.connections.sampling import Refused
from hub.core.errors import ServerError
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext
from hub.core.servers import ServerSpec
from hub.core.text import without_surrogates

HARD_MAXIMUM = 10
"""A call that reports progress may take so many times its limit."""
END_WAIT = 1.5
"""Seconds that a lost call waits to learn how the connection ended."""
SESSION_LOST = ("session not found", "session terminated")
"""How HTTP servers of the handshake era say that they have forgotten us."""
STATUS_LOST = (400, 404, 410)
"""HTTP statuses by which others say it."""

Fate = Literal["did not run", "may have run", "ran"]
FATES: Mapping[str, Fate] = {
    "server_unavailable": "did not run",
    "not_sent": "did not run",
    "session_lost": "did not run",
    "request_refused": "did not run",
    "quarantined": "did not run",
    "server_lost": "may have run",
    "timeout": "may have run",
    "invalid_result": "ran",
}
"""What is known of a call by the kind of its outcome."""
REFUSED = frozenset({401, 403, 405, 406, 413, 415, 429})
"""HTTP statuses with which a server turns a request away before it looks at the call."""

_Answer = types.CallToolResult | types.InputRequiredResult
_ANSWER: TypeAdapter[_Answer] = TypeAdapter(_Answer)


async def call_tool(
    link: Link,
    tool: str,
    arguments: dict[str, Any],
    context: CallContext,
    idempotent: Callable[[ServerSpec, str], bool],
) -> ToolOutcome:
    """Call a tool; a server that is gone or silent gives an error outcome, not an exception.

    A call that surely did not run, since the server had forgotten the session or could not be
    reached, is sent once more over a new connection. One that was lost on the way is so only where
    that was approved of the tool.
    """
    async with link.turn or nullcontext():
        outcome = await _once(link, tool, arguments, context)
        again = outcome.kind in ("session_lost", "not_sent") or (
            outcome.kind == "server_lost" and _may_repeat(link.spec, tool, idempotent)
        )
        return await _once(link, tool, arguments, context) if again else outcome


def _may_repeat(spec: ServerSpec, tool: str, idempotent: Callable[[ServerSpec, str], bool]) -> bool:
    rule = spec.tools.get(tool)
    if rule is not None and rule.idempotent is not None:
        return rule.idempotent
    return idempotent(spec, tool)


async def _once(
    link: Link, tool: str, arguments: dict[str, Any], context: CallContext
) -> ToolOutcome:
    try:
        connection = link.connection or await link.connect()
    except ServerError as error:
        return _error(f"{str(error).rstrip('.')}. The call did not run.", "server_unavailable")
    if refusal := link.life.judge.refusal(tool):
        return _error(refusal, "quarantined")
    limit = link.spec.call_timeout
    started = anyio.current_time()
    with (
        anyio.CancelScope(deadline=started + limit) as scope,
        connection.asking.requests.request(scope, context) as pending,
    ):

        async def told(
            progress: float, total: float | None = None, message: str | None = None
        ) -> None:
            latest = started + limit * HARD_MAXIMUM + pending.waited
            pending.extend(min(anyio.current_time() + limit, latest))
            context.progress(message or "", progress, total)

        try:
            return outcome_of(await _sent(connection, tool, _encodable(arguments), pending, told))
        except Refused as refused:
            text = f"The tool asks for input and does not get it: {refused}. It was not completed."
            return _error(text, "input_required")
        except MCPError as error:
            if error.code == types.URL_ELICITATION_REQUIRED:
                came = await connection.asking.sent_away(error, pending)
                return _error(f"The tool was not completed: {came}.", "input_required")
            return await _refused(link, connection, error)
        except ValidationError as error:
            faults = "; ".join(fault["msg"] for fault in error.errors()[:3])
            return _error(
                f"The tool ran, but its answer does not follow the protocol: {faults}.",
                "invalid_result",
            )
        except (RuntimeError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return await _lost(link, connection)
    took = anyio.current_time() - started
    return _error(
        f"The tool gave no answer within {took:.3g} s and was cancelled; it may have run.",
        "timeout",
    )


async def _sent(
    connection: Connection,
    tool: str,
    arguments: Any,
    pending: Pending,
    told: ProgressFnT,
) -> types.CallToolResult:
    """Send a call, and again with answers as long as the tool asks for something.

    Raises:
        Refused: it asks for what it does not get.
    """

    async def send(responses: types.InputResponses | None, state: str | None) -> _Answer:
        params = types.CallToolRequestParams(
            name=tool, arguments=arguments, input_responses=responses, request_state=state
        )
        request = types.CallToolRequest(params=params)
        session = connection.client.session
        return await session.send_request(request, _ANSWER, progress_callback=told)

    connection.calls += 1
    try:
        return await connection.asking.resolve(pending, send)
    finally:
        connection.done()


async def _refused(link: Link, connection: Connection, error: MCPError) -> ToolOutcome:
    if is_closed(error):
        return await _lost(link, connection)
    status = connection.watch.status if link.spec.transport in ("http", "sse") else 0
    said = error.message.lower()
    if any(sign in said for sign in SESSION_LOST) or _forgot(said, status):
        link.drop(connection)
        return _error("The server forgot the session; the call did not run.", "session_lost")
    text = connection.watch.told(error.message)
    if status and link.spec.transport == "sse":
        link.drop(connection)
    if connection.watch.refusal and status in REFUSED:
        text = f"MCP server {link.spec.name!r}: {connection.watch.refusal}"
        return _error(
            f"{text}; the call did not run. {connection.watch.remedy}.", "request_refused"
        )
    if not status:
        return _error(f"The server answered: {text} ({error.code})", "server_error")
    kind = "request_refused" if status in REFUSED else "server_error"
    fate = "did not run" if status in REFUSED else "may have run"
    return _error(
        f"The server answered: {text} ({error.code}, HTTP status {status}); the call {fate}.", kind
    )


def _forgot(said: str, status: int) -> bool:
    return status in STATUS_LOST and said in ("server returned an error response", "not found")


async def _lost(link: Link, connection: Connection) -> ToolOutcome:
    """Say how the connection ended under a call."""
    link.drop(connection)
    stdio = link.spec.transport == "stdio"
    with anyio.move_on_after(END_WAIT):
        await (connection.watch.closed if stdio else connection.attempt.finished).wait()
    if is_unreached(connection.attempt.fault):
        return _error(
            f"MCP server {link.spec.name!r} cannot be reached: "
            f"{connection.watch.told(str(connection.attempt.fault))}. "
            "The call did not run.",
            "not_sent",
        )
    details = connection.watch.describe() if stdio else link.error
    if connection.attempt.purpose == "restart":
        details = "it was restarted on request"
    return _error(
        f"The connection to MCP server {link.spec.name!r} was lost during the call"
        f"{f' ({details})' if details else ''}; the call may have run.",
        "server_lost",
    )


def _encodable(value: Any) -> Any:
    """Return JSON values without lone surrogates, which no transport can carry."""
    match value:
        case str():
            return without_surrogates(value)
        case dict():
            return {without_surrogates(str(k)): _encodable(v) for k, v in value.items()}
        case list():
            return [_encodable(item) for item in value]
        case _:
            return value


def _error(text: str, kind: str) -> ToolOutcome:
    return ToolOutcome(without_surrogates(text), is_error=True, kind=kind)
