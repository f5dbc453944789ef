"""The fold from a session's log to the conversation that a model may be sent.

Whatever the log holds, ``messages`` is legal: every tool call has exactly one result, in call
order and directly behind its message; no result lacks its call; no message is empty; no call id
occurs twice; names are ones that a provider takes; no text holds a lone surrogate. What breaks
these rules is left out and named in ``ignored``.
"""

import re
from collections.abc import Iterable

from msgspec import Struct, field

from hub.core import events as ev
from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hub.core.text import without_surrogates

LOST_RESULT = "The process ended before this call had a result; it may or may not have run."

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


class _Batch(Struct):
    """An assistant message whose calls do not all have a result yet, and what came after it."""

    message: AssistantMessage
    started: set[str] = field(default_factory=set)
    results: dict[str, ToolMessage] = field(default_factory=dict)
    held: list[UserMessage] = field(default_factory=list)

    def call(self, call_id: str) -> ToolCall | None:
        return next((call for call in self.message.calls if call.id == call_id), None)

    def missing(self) -> list[ToolCall]:
        return [call for call in self.message.calls if call.id not in self.results]


class Conversation:
    """Messages of one session, grown event by event."""

    def __init__(self, log: Iterable[ev.Event] = ()) -> None:
        self._messages: list[Message] = []
        self._batch: _Batch | None = None
        self._applied: set[int] = set()
        self._call_ids: set[str] = set()
        self.ignored: list[str] = []
        """What was left out of the conversation, and why."""
        for event in log:
            self.apply(event)

    def apply(self, event: ev.Event) -> None:
        """Take the next event of the log into account; an event that was applied changes nothing.

        Every other kind of event is none of the conversation's business.
        """
        match event:
            case ev.UserMessageEvent() | ev.ContextAdded():
                if self._is_new(event):
                    self._hear(event)
            case ev.AssistantMessageEvent():
                if self._is_new(event):
                    self._say(event)
            case ev.ToolCallEvent():
                if self._batch is not None:
                    self._batch.started.add(without_surrogates(event.call_id))
            case ev.ToolResultEvent():
                if self._is_new(event):
                    self._answer(event)
            case _:
                pass

    @property
    def messages(self) -> list[Message]:
        """The legal part of the conversation; a batch that is still open is not in it.

        The list grows at its end and never changes otherwise.
        """
        return self._messages

    def unsettled(self) -> list[tuple[ToolCall, bool]]:
        """Return the calls that lack a result, in call order, each with whether it was started."""
        batch = self._batch
        if batch is None:
            return []
        return [(call, call.id in batch.started) for call in batch.missing()]

    def _is_new(self, event: ev.Event) -> bool:
        if event.seq in self._applied:
            return False
        if event.seq > 0:
            self._applied.add(event.seq)
        return True

    def _ignore(self, event: ev.Event, what: str) -> None:
        self.ignored.append(f"event {event.seq}: {what}")

    def _hear(self, event: ev.UserMessageEvent | ev.ContextAdded) -> None:
        message = UserMessage(without_surrogates(event.text))
        if not message.text.strip():
            self._ignore(event, "a message without text")
        elif self._batch is not None:
            self._batch.held.append(message)
        else:
            self._messages.append(message)

    def _say(self, event: ev.AssistantMessageEvent) -> None:
        self._close_batch()
        calls = tuple(self._new_calls(event))
        text = without_surrogates(event.text)
        if not text.strip():
            text = ""
        if not text and not calls:
            self._ignore(event, "an assistant message without text and calls")
            return
        message = AssistantMessage(text, calls, without_surrogates(event.reasoning))
        if calls:
            self._batch = _Batch(message)
        else:
            self._messages.append(message)

    def _new_calls(self, event: ev.AssistantMessageEvent) -> Iterable[ToolCall]:
        for call in event.calls:
            call_id = without_surrogates(call.id)
            if not call_id:
                self._ignore(event, f"a call of {call.name!r} without an id")
            elif call_id in self._call_ids:
                self._ignore(event, f"call id {call_id!r} was used before")
            else:
                self._call_ids.add(call_id)
                yield ToolCall(call_id, _legal_name(call.name), without_surrogates(call.arguments))

    def _answer(self, event: ev.ToolResultEvent) -> None:
        call_id = without_surrogates(event.call_id)
        batch = self._batch
        call = batch.call(call_id) if batch is not None else None
        if batch is None or call is None or call_id in batch.results:
            what = "one more result of" if call_id in self._call_ids else "a result without"
            self._ignore(event, f"{what} call {call_id!r}")
            return
        text = without_surrogates(event.text)
        batch.results[call_id] = ToolMessage(call_id, call.name, text, event.is_error)
        if len(batch.results) == len(batch.message.calls):
            self._close_batch()

    def _close_batch(self) -> None:
        batch, self._batch = self._batch, None
        if batch is None:
            return
        self._messages.append(batch.message)
        for call in batch.message.calls:
            lost = ToolMessage(call.id, call.name, LOST_RESULT, is_error=True)
            self._messages.append(batch.results.get(call.id, lost))
        self._messages.extend(batch.held)


def _legal_name(name: str) -> str:
    """Return a tool's name as providers take it; a model may have invented one that they refuse."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unknown"
