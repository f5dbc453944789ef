"""An independent judge of histories: what a strict model server refuses (S7 of the fault cases)."""

import re
from collections.abc import Iterator, Sequence

from hub.core.messages import AssistantMessage, Message, ToolMessage, UserMessage

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def faults(messages: Sequence[Message]) -> list[str]:
    """Return everything for which a strict server would answer 400; empty for a legal history."""
    found = [fault for message in messages for fault in _own_faults(message)]
    ids = [
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
    ]
    found += [f"doubled id {one!r}" for one in sorted(set(ids)) if ids.count(one) > 1]
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if isinstance(message, ToolMessage):
            found.append(f"result {message.call_id!r} without a call before it")
        elif isinstance(message, AssistantMessage):
            wanted = [(call.id, call.name) for call in message.calls]
            results = messages[at : at + len(wanted)]
            got = [(one.call_id, one.name) for one in results if isinstance(one, ToolMessage)]
            if got != wanted:
                found.append(f"calls {wanted} are answered by {got}")
            at += len(got)
    return found


def _own_faults(message: Message) -> Iterator[str]:
    texts = [message.text]
    match message:
        case UserMessage():
            if not message.text.strip():
                yield "empty user message"
        case AssistantMessage():
            texts += [message.reasoning]
            texts += [part for call in message.calls for part in (call.id, call.name)]
            texts += [call.arguments for call in message.calls]
            if not message.text.strip() and not message.calls:
                yield "empty assistant message"
            for call in message.calls:
                if not call.id:
                    yield "call without an id"
                if not _NAME.fullmatch(call.name):
                    yield f"name {call.name!r}"
        case ToolMessage():
            texts += [message.call_id, message.name]
    if any("\ud800" <= char <= "\udfff" for text in texts for char in text):
        yield "lone surrogate"
