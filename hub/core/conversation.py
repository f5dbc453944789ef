"""The fold from a session's log to the conversation that a model may be sent.

Whatever the log holds, ``messages`` is legal: every tool call has exactly one result, in call
order and directly behind its message; no result lacks its call; no assistant message is empty; no
text holds a lone surrogate. What breaks these rules is left out and named in ``ignored``.
"""

from collections.abc import Iterable

from hub.core import events as ev
from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hub.core.text import without_surrogates

LOST_RESULT = "The process ended before this call had a result; it may or may not have run."


class Conversation:
    """Messages of one session, grown event by event."""

    def __init__(self, log: Iterable[ev.Event] = ()) -> None:
        self._messages: list[Message] = []
        self._open: dict[str, ToolCall] = {}
        self._results: dict[str, ToolMessage] = {}
        self._started: set[str] = set()
        self._held: list[UserMessage] = []
        self._seen: set[str] = set()
        self.ignored: list[str] = []
        """What was left out of the conversation, and why."""
        for event in log:
            self.apply(event)

    def apply(self, event: ev.Event) -> None:
        """Take the next event of the log into account."""
        match event:
            case ev.UserMessageEvent() | ev.ContextAdded():
                self._hear(UserMessage(without_surrogates(event.text)))
            case ev.AssistantMessageEvent():
                self._say(event)
            case ev.ToolCallEvent():
                self._started.add(event.call_id)
            case ev.ToolResultEvent():
                self._answer(event)
            case _:
                pass

    @property
    def messages(self) -> list[Message]:
        """The legal part of the conversation; a batch that is still open is not in it."""
        return self._messages

    def unsettled(self) -> list[tuple[ToolCall, bool]]:
        """Return the calls that lack a result, in call order, each with whether it was started."""
        missing = [call for call in self._open.values() if call.id not in self._results]
        return [(call, call.id in self._started) for call in missing]

    def knows(self, call_id: str) -> bool:
        """Say whether a call of this id was ever made in the session."""
        return call_id in self._seen

    def _hear(self, message: UserMessage) -> None:
        if self._open:
            self._held.append(message)
        else:
            self._messages.append(message)

    def _say(self, event: ev.AssistantMessageEvent) -> None:
        self._close_batch()
        calls: list[ToolCall] = []
        for call in event.calls:
            if call.id in self._seen:
                self.ignored.append(f"event {event.seq}: call id {call.id!r} was used before")
                continue
            self._seen.add(call.id)
            calls.append(ToolCall(call.id, call.name, without_surrogates(call.arguments)))
        text = without_surrogates(event.text)
        if not text and not calls:
            self.ignored.append(f"event {event.seq}: an assistant message without text and calls")
            return
        reasoning = without_surrogates(event.reasoning)
        message = AssistantMessage(text, tuple(calls), reasoning)
        self._open = {call.id: call for call in calls}
        self._pending: AssistantMessage = message
        if not calls:
            self._messages.append(message)

    def _answer(self, event: ev.ToolResultEvent) -> None:
        call = self._open.get(event.call_id)
        if call is None or event.call_id in self._results:
            why = "a second result for" if event.call_id in self._seen else "a result without"
            self.ignored.append(f"event {event.seq}: {why} call {event.call_id!r}")
            return
        text = without_surrogates(event.text)
        self._results[call.id] = ToolMessage(call.id, call.name, text, event.is_error)
        if len(self._results) == len(self._open):
            self._close_batch()

    def _close_batch(self) -> None:
        if not self._open:
            return
        self._messages.append(self._pending)
        for call in self._open.values():
            lost = ToolMessage(call.id, call.name, LOST_RESULT, is_error=True)
            self._messages.append(self._results.get(call.id, lost))
        self._messages.extend(self._held)
        self._open, self._results, self._held = {}, {}, []
