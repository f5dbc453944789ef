"""The public stream of one prompt: events as they happen, then the result."""

from typing import cast

from hub.core.events import AnyEvent
from hub.core.jobs import TurnResult
from hub.engine.feed import Feed


class EventStream:
    """Iterates over the events of one turn and of every turn below it.

    It is had from ``async with hub.ask(...)``. Leaving that block early cancels the turn.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._result: TurnResult | None = None

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> AnyEvent:
        event = await self._feed.get()
        if event is None:
            raise StopAsyncIteration
        return cast(AnyEvent, event)

    @property
    def result(self) -> TurnResult:
        """How the turn ended.

        Raises:
            RuntimeError: the turn is still running; read the stream to its end first.
        """
        if self._result is None:
            raise RuntimeError("the turn has not ended; read the stream to its end first")
        return self._result

    def finish(self, result: TurnResult) -> None:
        """Record the result; called once, by the hub."""
        self._result = result
