"""Asking a chat model in tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from hub.core.messages import UserMessage
from hub.core.modelspec import ModelSpec
from hub.core.requests import Completion, ModelEvent, ModelRequest, RetryNotice, TextPiece
from hub.models.chat.model import ChatModel
from hub.testing.clock import FakeClock

REQUEST = ModelRequest("Be brief.", [UserMessage("Hi")])
KEY = "sk-very-secret"


@asynccontextmanager
async def model_at(
    url: str, clock: FakeClock | None = None, **spec: Any
) -> AsyncIterator[ChatModel]:
    """Open a model whose waits between retries take no time."""
    entry = ModelSpec("fast", "gpt-x", url, **{"api_key": KEY, **spec})
    model = ChatModel(entry, clock=clock or FakeClock(patient=False))
    try:
        yield model
    finally:
        await model.aclose()


async def ask(model: ChatModel, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    """Return all items of one answer."""
    with anyio.fail_after(5):
        async with model.stream(request) as items:
            return [item async for item in items]


def said(items: list[ModelEvent]) -> str:
    """Return the text that a consumer shows: what came before a retry is void."""
    text = ""
    for item in items:
        if isinstance(item, RetryNotice):
            text = ""
        elif isinstance(item, TextPiece):
            text += item.text
    return text


def completion(items: list[ModelEvent]) -> Completion:
    """Return the last item, which has to be the only completion."""
    *before, last = items
    assert isinstance(last, Completion)
    assert not any(isinstance(item, Completion) for item in before)
    return last


def notices(items: list[ModelEvent]) -> list[RetryNotice]:
    """Return the announced retries."""
    return [item for item in items if isinstance(item, RetryNotice)]
