"""Ids of tool calls: no two calls of a conversation may share one."""

import secrets
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hub.core.messages import AssistantMessage, Message, ToolCall


def ids_of(messages: Sequence[Message]) -> set[str]:
    """Return the ids of all calls in a history."""
    return {
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
    }


def with_unique_ids(calls: Iterable[ToolCall], taken: set[str]) -> tuple[ToolCall, ...]:
    """Give a new id to each call that has none, or one that is taken or used before it."""
    known = set(taken)
    found: list[ToolCall] = []
    for call in calls:
        id_ = call.id
        while not id_ or id_ in known:
            id_ = f"call_{secrets.token_hex(6)}"
        known.add(id_)
        found.append(call if id_ == call.id else replace(call, id=id_))
    return tuple(found)
