"""Turns away what a server asks and may not ask, before the SDK sees it, and lets it be told.

The SDK would answer too, but with an error that says less, and without anybody hearing of it.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import TracebackType
from typing import Any

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

from hub.core.servers import Ask

METHODS: Mapping[str, Ask] = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
"""What each request of a server asks for."""
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)

TurnedAway = Callable[[Ask], str]
"""Is told that something was asked which may not be; returns why, for the server."""


@asynccontextmanager
async def gated(
    transport: AbstractAsyncContextManager[Any],
    allowed: frozenset[str],
    turned_away: TurnedAway,
) -> AsyncIterator[tuple[Any, Any]]:
    """Open a transport; requests for other things than the allowed ones are answered here."""
    async with transport as (incoming, outgoing), anyio.create_task_group() as group:

        async def refuse(request: types.JSONRPCRequest, reason: str) -> None:
            error = types.ErrorData(code=types.METHOD_NOT_FOUND, message=reason)
            answer = types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error)
            with suppress(*_GONE):
                await outgoing.send(SessionMessage(answer))

        def take(message: Any) -> bool:
            inner = message.message if isinstance(message, SessionMessage) else None
            if not isinstance(inner, types.JSONRPCRequest):
                return False
            asked = METHODS.get(inner.method)
            if asked is None or asked in allowed:
                return False
            group.start_soon(refuse, inner, turned_away(asked))
            return True

        yield _Gate(incoming, take), outgoing
        group.cancel_scope.cancel()


class _Gate:
    """A transport's stream of messages, less those that were taken."""

    def __init__(self, inner: Any, take: Callable[[Any], bool]) -> None:
        self._inner = inner
        self._take = take

    @property
    def last_context(self) -> Any:
        """The context of whoever sent the latest message, where the transport keeps it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        """Wait for the next message."""
        while self._take(message := await self._inner.receive()):
            pass
        return message

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> "_Gate":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "_Gate":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
