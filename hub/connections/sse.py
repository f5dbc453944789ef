"""The older HTTP transport: an event stream to listen to, and an address to post to.

The SDK's client tells nobody when a post is refused and posts nothing more afterwards. So a refusal
is handed to whoever waits for the answer, as over the newer transport, and the connection is let
go soon after.
"""

import json
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp import types
from mcp.client.sse import sse_client
from mcp.shared.message import SessionMessage

from hub.connections.mending import mended
from hub.connections.watch import Watch

REFUSED = "Server returned an error response"
"""What the SDK says over the newer transport of a refusal without a JSON-RPC answer."""
LAST_ANSWERS = 1.0
"""Seconds that calls which the server had taken before a refusal have to be answered."""
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)


@asynccontextmanager
async def sse_transport(
    url: str,
    *,
    headers: Mapping[str, str],
    watch: Watch,
    open_http: Callable[..., Any],
    limit: float,
    read_limit: float,
) -> AsyncIterator[tuple[Any, Any]]:
    """Listen to a server's stream and yield the two streams of messages.

    ``open_http`` makes the HTTP client from headers and limits, and signs in by itself; posts may
    take ``limit`` seconds, the stream may be silent for ``read_limit``.
    """
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)

    async with anyio.create_task_group() as group, send, receive:

        async def notice(response: Any) -> None:
            if response.request.method == "POST":
                watch.status = response.status_code if response.status_code >= 400 else 0
                if watch.status:
                    _refuse(response.request.content, send)
                    group.start_soon(_close_soon, watch)

        def make(
            headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None
        ) -> Any:
            http = open_http(headers=headers, timeout=timeout)
            http.event_hooks = {"response": [notice]}
            return http

        async with sse_client(url, dict(headers), limit, read_limit, httpx_client_factory=make) as (
            incoming,
            outgoing,
        ):
            group.start_soon(_hand_on, incoming, send, watch)
            yield receive, outgoing
            group.cancel_scope.cancel()


async def _hand_on(
    incoming: Any, send: MemoryObjectSendStream[SessionMessage | Exception], watch: Watch
) -> None:
    with suppress(*_GONE):
        async for message in incoming:
            await send.send(mended(message) if isinstance(message, SessionMessage) else message)
    send.close()
    watch.closed.set()


def _refuse(body: bytes, send: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Answer a request that was refused, in the server's stead."""
    with suppress(ValueError, *_GONE):
        posted = json.loads(body)
        if posted.get("method") and posted.get("id") is not None:
            error = types.ErrorData(code=types.INTERNAL_ERROR, message=REFUSED)
            answer = types.JSONRPCError(jsonrpc="2.0", id=posted["id"], error=error)
            send.send_nowait(SessionMessage(answer))


async def _close_soon(watch: Watch) -> None:
    await anyio.sleep(LAST_ANSWERS)
    watch.closed.set()
