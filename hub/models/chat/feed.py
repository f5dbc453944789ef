"""Carries an answer from the task that reads it to the one that uses it.

Pieces that come while nobody waits are merged, so that a burst of deltas costs one item.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from hub.core.requests import Completion, ModelEvent, ReasoningPiece, RetryNotice, TextPiece
from hub.core.text import without_surrogates

MAX_BUFFERED = 1_000_000
"""Characters that may wait for the consumer before the reader pauses."""


class Feed:
    """An async iterator of model events with room for what its consumer has not taken yet."""

    def __init__(self) -> None:
        self._items: deque[ModelEvent] = deque()
        self._open: type[TextPiece] | type[ReasoningPiece] = TextPiece
        self._parts: list[str] = []
        self._held = ""
        self._error: Exception | None = None
        self._closed = False
        self._news: anyio.Event | None = None
        self._taken: anyio.Event | None = None
        self._size = 0

    def text(self, text: str) -> None:
        """Add text of the answer."""
        if self._open is not TextPiece:
            self._settle()
            self._open = TextPiece
        self._parts.append(text)
        self._size += len(text)
        if self._news is not None:
            self._news.set()

    def reasoning(self, text: str) -> None:
        """Add text of the reasoning."""
        if self._open is not ReasoningPiece:
            self._settle()
            self._open = ReasoningPiece
        self._parts.append(text)
        self._size += len(text)
        if self._news is not None:
            self._news.set()

    def put(self, item: RetryNotice | Completion) -> None:
        """Add an item that is never merged."""
        self._settle()
        self._items.append(item)
        self._wake()

    def close(self, error: Exception | None = None) -> None:
        """End the feed after what was added, with an error if one is given."""
        self._settle()
        self._closed = True
        self._error = error
        self._wake()

    @property
    def crowded(self) -> bool:
        """Whether the reader should wait for the consumer."""
        return self._size > MAX_BUFFERED

    async def room(self) -> None:
        """Wait until the consumer has taken everything."""
        while self.crowded:
            self._taken = anyio.Event()
            await self._taken.wait()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelEvent:
        while True:
            if not self._items and self._parts:
                self._settle(last=False)
            if self._items:
                return self._items.popleft()
            if self._error is not None:
                raise self._error
            if self._closed:
                raise StopAsyncIteration
            self._size = 0
            if self._taken is not None:
                self._taken.set()
            self._news = anyio.Event()
            await self._news.wait()
            self._news = None

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()

    def _settle(self, *, last: bool = True) -> None:
        """Make one piece of the open parts; half of a surrogate pair waits for its other half."""
        text = self._held + "".join(self._parts)
        self._parts.clear()
        self._held = ""
        if text and not last and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        if text:
            self._items.append(self._open(without_surrogates(text)))


class Fed(AbstractAsyncContextManager[Feed]):
    """Runs a reader beside the body of ``async with`` and ends it when the body is left.

    An exception of the body leaves as it is, not in a group.
    """

    def __init__(self, reader: Callable[[Feed], Coroutine[Any, Any, None]]) -> None:
        self._reader = reader
        self._group: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> Feed:
        feed = Feed()
        await self._group.__aenter__()
        self._group.start_soon(self._reader, feed)
        return feed

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        try:
            if isinstance(error, anyio.get_cancelled_exc_class()):
                return await self._group.__aexit__(kind, error, trace)
            await self._group.__aexit__(None, None, None)
        except BaseExceptionGroup as group:
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from None
            raise
        return None
